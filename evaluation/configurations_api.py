"""Systems and judges over HTTP, and trying a system out."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Benchmark, get_benchmark_for
from lhdr_site.shared.api import CHANGED, NOT_FOUND, REFUSED, person, read_body
from lhdr_site.shared.errors import Invalid

from . import try_actions
from .actions import create_judge, create_system
from .models import Condition, Group, ImageMode, System, Tryout
from .permissions import may_manage_runs
from .queries import judges_of, last_attempt_of, releases_of, systems_of, tryouts_of


class _WithPrices(serializers.Serializer[Any]):
    prompt_price = serializers.DecimalField(
        max_digits=10, decimal_places=4, allow_null=True, help_text="USD per million tokens, where no cost is reported."
    )
    completion_price = serializers.DecimalField(max_digits=10, decimal_places=4, allow_null=True)


class SystemOut(_WithPrices):
    id = serializers.IntegerField()
    name = serializers.CharField()
    group = serializers.ChoiceField(choices=Group.values)
    family = serializers.CharField()
    endpoint = serializers.CharField(
        source="endpoint.name", allow_null=True, default=None, help_text="null where its answers come from files."
    )
    model = serializers.CharField()
    release_date = serializers.DateField(allow_null=True)
    represents_family = serializers.BooleanField()
    image_mode = serializers.ChoiceField(choices=ImageMode.values)
    image_max_side = serializers.IntegerField(allow_null=True)
    max_request_mb = serializers.IntegerField()
    max_tries = serializers.IntegerField()
    extra_body = serializers.DictField()
    runs = serializers.IntegerField(source="run_count")
    is_demo = serializers.BooleanField(help_text="Recorded answers, not a real service.")


class JudgeOut(_WithPrices):
    id = serializers.IntegerField()
    name = serializers.CharField()
    person = serializers.CharField(
        source="person.username", allow_null=True, default=None, help_text="The user name, where the judge is a person."
    )
    family = serializers.CharField()
    endpoint = serializers.CharField(source="endpoint.name", allow_null=True, default=None)
    model = serializers.CharField()
    prompt_version = serializers.CharField()
    max_response_chars = serializers.IntegerField(allow_null=True)
    max_tries = serializers.IntegerField()
    extra_body = serializers.DictField()
    runs = serializers.IntegerField(source="run_count")
    is_demo = serializers.BooleanField(source="endpoint.is_demo", default=False)


class _ConfigurationIn(serializers.Serializer[Any]):
    """What is left out is as in the forms. The endpoint's model and the rest are checked as there."""

    name = serializers.CharField(max_length=80)
    endpoint = serializers.CharField(max_length=80, help_text="Its name; one of those that the benchmark may use.")
    model = serializers.CharField(max_length=200, help_text="As the endpoint names it.")
    extra_body = serializers.DictField(required=False, help_text="Added to every request as it is.")
    max_tries = serializers.IntegerField(min_value=1, max_value=100, required=False)
    prompt_price = serializers.DecimalField(
        max_digits=10, decimal_places=4, min_value=Decimal(0), required=False, allow_null=True
    )
    completion_price = serializers.DecimalField(
        max_digits=10, decimal_places=4, min_value=Decimal(0), required=False, allow_null=True
    )


class SystemIn(_ConfigurationIn):
    group = serializers.ChoiceField(choices=Group.values)
    family = serializers.CharField(max_length=80)
    release_date = serializers.DateField(required=False, allow_null=True)
    represents_family = serializers.BooleanField(required=False)
    image_mode = serializers.ChoiceField(choices=ImageMode.values, required=False)
    image_max_side = serializers.IntegerField(min_value=64, max_value=2**31 - 1, required=False, allow_null=True)
    max_request_mb = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False)


class JudgeIn(_ConfigurationIn):
    family = serializers.CharField(max_length=80, required=False)
    prompt_version = serializers.CharField(max_length=40, required=False)
    max_response_chars = serializers.IntegerField(min_value=1000, max_value=2**31 - 1, required=False, allow_null=True)


def _configuration(benchmark: Benchmark, data: dict[str, Any]) -> dict[str, Any]:
    """What was sent, with its endpoint found by its name."""
    endpoints = {endpoint.name: endpoint for endpoint in benchmark.endpoints.all()}
    if data["endpoint"] not in endpoints:
        known = ", ".join(endpoints) or _("none")
        raise Invalid.at("endpoint", _("This benchmark may use no endpoint of this name; it may use: %s.") % known)
    return {**data, "endpoint": endpoints[data["endpoint"]]}


def _made(
    request: Request, slug: str, body: type[_ConfigurationIn], create: Callable[..., Any]
) -> tuple[Benchmark, Any]:
    """The benchmark, and the system or judge that was made in it of the body."""
    benchmark = get_benchmark_for(request.user, slug)
    may_manage_runs(request.user, benchmark).require()
    return benchmark, create(benchmark, _configuration(benchmark, read_body(body, request)), actor=person(request))


class SystemList(APIView):
    """The systems under evaluation."""

    @extend_schema(operation_id="list_systems", responses={200: SystemOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        return Reply(SystemOut(systems_of(get_benchmark_for(request.user, slug)), many=True).data)

    @extend_schema(operation_id="create_system", request=SystemIn, responses={201: SystemOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str) -> Reply:
        """Once it has run it is never changed: another configuration is another system."""
        benchmark, made = _made(request, slug, SystemIn, create_system)
        return Reply(SystemOut(systems_of(benchmark).get(pk=made.pk)).data, status=201)


class TryoutOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    item = serializers.IntegerField(source="release_item.item.number")
    release = serializers.CharField(source="release_item.release.name")
    condition = serializers.ChoiceField(choices=Condition.values)
    status = serializers.CharField(help_text=", ".join(Tryout.Status.values))
    error_kind = serializers.CharField()
    error = serializers.CharField()
    text = serializers.CharField(help_text="The answer. It is not kept among the responses.")
    truncated = serializers.BooleanField()
    citations = serializers.ListField(child=serializers.DictField())
    returned_model = serializers.CharField()
    cost = serializers.DecimalField(max_digits=12, decimal_places=6, allow_null=True, help_text="USD; null: unknown.")
    request = serializers.JSONField(allow_null=True, help_text="As it was sent; image bytes as their hash, no key.")
    http_status = serializers.IntegerField(allow_null=True)
    reply = serializers.CharField(help_text="As it came.")
    requested_by = serializers.CharField(source="requested_by.username")
    created = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)


class TryIn(serializers.Serializer[Any]):
    release = serializers.CharField(max_length=80, required=False, help_text="Its name; the newest without.")
    item = serializers.IntegerField(min_value=1, required=False, help_text="Its number; the first one without.")
    condition = serializers.ChoiceField(choices=Condition.values, default=Condition.WITH_IMAGE)


def _tryout_out(tryout: Tryout) -> dict[str, Any]:
    last = last_attempt_of(tryout)
    tryout.request = last and last.request  # type: ignore[attr-defined]
    tryout.http_status = last and last.http_status  # type: ignore[attr-defined]
    tryout.reply = last.body if last else ""  # type: ignore[attr-defined]
    return dict(TryoutOut(tryout).data)


def _system(request: Request, slug: str, pk: int) -> System:
    benchmark = get_benchmark_for(request.user, slug)
    return get_object_or_404(System.objects.select_related("benchmark"), benchmark=benchmark, pk=pk)


class SystemTry(APIView):
    """One request to see what a system answers: sent by a worker as a run would send it, and kept apart from them."""

    @extend_schema(operation_id="try_system", request=TryIn, responses={202: TryoutOut, **NOT_FOUND, **CHANGED})
    def post(self, request: Request, slug: str, pk: int) -> Reply:
        system = _system(request, slug, pk)
        may_manage_runs(request.user, system.benchmark).require()
        data = read_body(TryIn, request)
        releases = releases_of(system.benchmark)
        name = data.pop("release", None)
        release = releases.first() if name is None else releases.filter(name=name).first()
        if release is None:
            raise Invalid.at("release", _("There is no such release."))
        made = try_actions.try_system(system, release=release, **data, actor=person(request))
        return Reply(_tryout_out(tryouts_of(system).get(pk=made.pk)), status=202)


class TryoutDetail(APIView):
    """What came of it; ask again while its status is pending or running."""

    @extend_schema(operation_id="get_tryout", responses={200: TryoutOut, **NOT_FOUND})
    def get(self, request: Request, slug: str, pk: int, tryout: int) -> Reply:
        return Reply(_tryout_out(get_object_or_404(tryouts_of(_system(request, slug, pk)), pk=tryout)))


class TryoutCancel(APIView):
    @extend_schema(operation_id="cancel_tryout", request=None, responses={200: TryoutOut, **NOT_FOUND, **CHANGED})
    def post(self, request: Request, slug: str, pk: int, tryout: int) -> Reply:
        """The call is ended, and its result dropped."""
        system = _system(request, slug, pk)
        try_actions.cancel_tryout(get_object_or_404(tryouts_of(system), pk=tryout), actor=person(request))
        return Reply(_tryout_out(tryouts_of(system).get(pk=tryout)))


class JudgeList(APIView):
    """The judges: models with one prompt version, and people."""

    @extend_schema(operation_id="list_judges", responses={200: JudgeOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        return Reply(JudgeOut(judges_of(get_benchmark_for(request.user, slug)), many=True).data)

    @extend_schema(operation_id="create_judge", request=JudgeIn, responses={201: JudgeOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str) -> Reply:
        """A model with one prompt version; once it has judged it is never changed."""
        benchmark, made = _made(request, slug, JudgeIn, create_judge)
        return Reply(JudgeOut(judges_of(benchmark).get(pk=made.pk)).data, status=201)
