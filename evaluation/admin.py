"""Systems, judges, runs and what came of them, to look at. Nothing is written here: the pages and the API do that."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from lhdr_site.shared.admin import ReadOnly

from .models import Attempt, Judge, Report, Response, Run, RunEvent, Study, StudyEvent, System, Verdict


@admin.register(System)
class SystemAdmin(ReadOnly):
    list_display = ["name", "benchmark", "group", "family", "model", "endpoint"]
    list_filter = ["benchmark", "group"]
    list_select_related = ["benchmark", "endpoint"]


@admin.register(Judge)
class JudgeAdmin(ReadOnly):
    list_display = ["name", "benchmark", "family", "model", "prompt_version", "person"]
    list_filter = ["benchmark"]
    list_select_related = ["benchmark", "person"]


@admin.register(Study)
class StudyAdmin(ReadOnly):
    list_display = ["number", "benchmark", "name", "release", "created", "frozen"]
    list_filter = ["benchmark"]
    list_select_related = ["benchmark", "release"]


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ["number", "benchmark", "system", "condition", "state", "created"]
    list_filter = ["benchmark", "state"]
    list_select_related = ["benchmark", "system"]


class WithoutTexts(ReadOnly):
    """Lists never load long texts."""

    long: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer(*self.long) if match and match.url_name and match.url_name.endswith("_changelist") else rows


@admin.register(Response)
class ResponseAdmin(WithoutTexts):
    list_display = ["pk", "run", "status", "error_kind", "tries", "ended"]
    list_filter = ["status", "error_kind"]
    list_select_related = ["run"]
    raw_id_fields = ["release_item"]
    long = ("text", "thinking")


@admin.register(Verdict)
class VerdictAdmin(WithoutTexts):
    list_display = ["pk", "run", "judge", "status", "answer_correct", "unparseable"]
    list_filter = ["status", "judge"]
    list_select_related = ["run", "judge"]
    long = ("output",)


@admin.register(Attempt)
class AttemptAdmin(WithoutTexts):
    list_display = ["pk", "started", "requested_model", "http_status", "error_kind", "cost"]
    list_filter = ["error_kind", "http_status"]
    long = ("request", "body")


@admin.register(Report)
class ReportAdmin(WithoutTexts):
    list_display = ["kind", "benchmark", "input_hash", "created"]
    list_filter = ["kind", "benchmark"]
    list_select_related = ["benchmark"]
    long = ("data",)


@admin.register(RunEvent)
class RunEventAdmin(ReadOnly):
    list_display = ["created", "run", "kind", "actor"]
    list_filter = ["kind"]
    list_select_related = ["run", "actor"]


@admin.register(StudyEvent)
class StudyEventAdmin(ReadOnly):
    list_display = ["created", "study", "kind", "actor"]
    list_filter = ["kind"]
    list_select_related = ["study", "actor"]
