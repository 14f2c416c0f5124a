"""Importing responses and verdicts over HTTP: the file as `multipart/form-data`."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, person, read_body
from lhdr_site.shared.errors import Invalid

from .api import RUN_REFUSED, named_rows
from .exchange_forms import IMPORT_MAX_MB
from .importing import import_responses, import_verdicts, read_response_file, read_verdict_file
from .interchange import FORMATS, VERDICT_FORMATS
from .models import Condition, Group, Judge, System
from .permissions import may_manage_runs
from .queries import get_run_for, releases_of

SHOWN = 50


class FileIn(serializers.Serializer[Any]):
    file = serializers.FileField()
    skip_refused = serializers.BooleanField(default=False, help_text="Import the other rows all the same.")
    dry_run = serializers.BooleanField(default=False, help_text="Check everything, write nothing.")

    def validate_file(self, file: Any) -> Any:
        if file.size > IMPORT_MAX_MB * 1024 * 1024:
            text = _("The file has over %(limit)d MB. Import it with the command on the server.")
            raise serializers.ValidationError(text % {"limit": IMPORT_MAX_MB})
        return file


class ResponsesIn(FileIn):
    release = serializers.CharField(max_length=50, help_text="Name.")
    system = serializers.CharField(max_length=80, help_text="Name; made where it is new, with group and family.")
    group = serializers.ChoiceField(choices=Group.values, required=False)
    family = serializers.CharField(max_length=80, required=False)
    format = serializers.ChoiceField(choices=FORMATS, default="auto")
    condition = serializers.ChoiceField(choices=Condition.values, required=False, help_text="Where no row says it.")
    judge = serializers.CharField(max_length=80, required=False, help_text="Main judge, by name.")
    judge_elsewhere = serializers.CharField(max_length=80, required=False, default="")
    note = serializers.CharField(required=False, allow_blank=True, max_length=10_000, default="")


class VerdictsIn(FileIn):
    format = serializers.ChoiceField(choices=VERDICT_FORMATS, default="auto")
    judge = serializers.CharField(max_length=80, required=False, default="", help_text="Whose; else as each row says.")


class ResponsesOut(serializers.Serializer[Any]):
    run = serializers.IntegerField(allow_null=True)
    new = serializers.BooleanField(help_text="False where these rows are this run already.")
    format = serializers.CharField()
    condition = serializers.CharField()
    responses = serializers.IntegerField()
    failed = serializers.IntegerField()
    items_lacking = serializers.IntegerField(help_text="With any, the run is a trial.")
    refused = serializers.ListField(child=serializers.CharField())


class VerdictsOut(serializers.Serializer[Any]):
    format = serializers.CharField()
    judges = serializers.ListField(child=serializers.CharField())
    new = serializers.IntegerField()
    known = serializers.IntegerField(help_text="Were there already.")
    refused = serializers.ListField(child=serializers.CharField())


def _require_whole(problems: list[str], skip: bool) -> None:
    if problems and not skip:
        raise Invalid.of([{"path": "file", "message": problem} for problem in problems[:SHOWN]])


class ResponseImport(APIView):
    """A system's answers from a file, as a finished run of their own."""

    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="import_responses", request=ResponsesIn, responses={200: ResponsesOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        benchmark = get_benchmark_for(request.user, slug)
        may_manage_runs(request.user, benchmark).require()
        data = read_body(ResponsesIn, request)
        problems: list[dict[str, str]] = []
        releases = named_rows(releases_of(benchmark), [data["release"]], "release", problems)
        judges = Judge.objects.filter(benchmark=benchmark, person=None)
        judge = named_rows(judges, [data["judge"]], "judge", problems) if "judge" in data else []
        if problems:
            raise Invalid.of(problems)
        incoming = read_response_file(releases[0], data["file"], data["format"], data.get("condition", ""))
        _require_whole(incoming.problems, data["skip_refused"])
        system = System.objects.filter(benchmark=benchmark, name=data["system"]).first()
        new_system = {"name": data["system"], "group": data.get("group", ""), "family": data.get("family", "")}
        run, new = None, False
        if not data["dry_run"]:
            run, new = import_responses(
                incoming,
                system or new_system,
                actor=person(request),
                judge=judge[0] if judge else None,
                judge_elsewhere=data["judge_elsewhere"],
                note=data["note"],
                file_name=data["file"].name,
            )
        return Reply(
            {
                "run": run.number if run else None,
                "new": new,
                "format": incoming.format,
                "condition": incoming.condition,
                "responses": len(incoming.matched),
                "failed": incoming.failed,
                "items_lacking": incoming.lacking,
                "refused": incoming.problems[:SHOWN],
            }
        )


class VerdictImport(APIView):
    """Verdicts of judges elsewhere on the responses of a finished run."""

    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="import_verdicts", request=VerdictsIn, responses={200: VerdictsOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        run = get_run_for(request.user, slug, number)
        may_manage_runs(request.user, run.benchmark).require()
        data = read_body(VerdictsIn, request)
        incoming = read_verdict_file(run, data["file"], data["format"], data["judge"])
        _require_whole(incoming.problems, data["skip_refused"])
        if not data["dry_run"]:
            import_verdicts(incoming, actor=person(request), file_name=data["file"].name)
        return Reply(
            {
                "format": incoming.format,
                "judges": incoming.judges,
                "new": len(incoming.rows),
                "known": incoming.known,
                "refused": incoming.problems[:SHOWN],
            }
        )
