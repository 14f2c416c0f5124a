"""Failure modes and labels of failed steps over HTTP: read them, bring a taxonomy, have a run labelled, label."""

from typing import Any

from django.db.models import F
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import get_benchmark_for
from lhdr_site.shared.api import NOT_FOUND, REFUSED, page_of, person, read_body
from lhdr_site.shared.errors import Invalid, NotAllowed

from .api import RUN_REFUSED
from .failure_modes import OWN_VERSION
from .label_actions import MOST_CHARACTERS, bring_taxonomy, label_failures, record_labels
from .labels import TaxonomyRow, get_taxonomy, taxonomies_of
from .models import Judge, Labelling, Run
from .permissions import may_record_verdict
from .queries import get_response, get_run_for, has_seen_verdicts


class ModeOut(serializers.Serializer[Any]):
    key = serializers.CharField()
    name = serializers.CharField()
    definition = serializers.CharField()
    example = serializers.CharField()


class TaxonomyOut(serializers.Serializer[Any]):
    version = serializers.CharField()
    built_in = serializers.BooleanField()
    used = serializers.IntegerField(help_text="Responses labelled by it.")
    modes = ModeOut(many=True)


class TaxonomyIn(serializers.Serializer[Any]):
    version = serializers.CharField(max_length=40)
    text = serializers.CharField(max_length=MOST_CHARACTERS, help_text="key | name | definition | example, one a line.")


def _taxonomy(row: TaxonomyRow) -> dict[str, Any]:
    modes = [{name: getattr(mode, name) for name in ("key", "name", "definition", "example")} for mode in row.modes]
    return {"version": row.version, "built_in": row.brought is None, "used": row.used, "modes": modes}


class TaxonomyList(APIView):
    """The failure modes by which failed steps are labelled."""

    @extend_schema(operation_id="list_taxonomies", responses={200: TaxonomyOut(many=True), **NOT_FOUND})
    def get(self, request: Request, slug: str) -> Reply:
        return Reply([_taxonomy(row) for row in taxonomies_of(get_benchmark_for(request.user, slug))])

    @extend_schema(
        operation_id="bring_taxonomy", request=TaxonomyIn, responses={201: TaxonomyOut, **NOT_FOUND, **REFUSED}
    )
    def post(self, request: Request, slug: str) -> Reply:
        """A taxonomy of the team's own; it is never changed later."""
        benchmark = get_benchmark_for(request.user, slug)
        row = bring_taxonomy(benchmark, **read_body(TaxonomyIn, request), actor=person(request))
        return Reply(_taxonomy(get_taxonomy(benchmark, row.version)), status=201)


class LabelIn(serializers.Serializer[Any]):
    step = serializers.IntegerField(min_value=0, help_text="Number of the step, from 1; 0 is the response as a whole.")
    mode = serializers.CharField(max_length=40)
    note = serializers.CharField(max_length=500, allow_blank=True, default="")


class LabellingOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    response = serializers.IntegerField()
    item = serializers.IntegerField(help_text="Number of the item.")
    labeller = serializers.CharField()
    is_person = serializers.BooleanField()
    basis = serializers.CharField(help_text="The judge whose verdict says which steps failed.")
    taxonomy = serializers.CharField()
    status = serializers.CharField()
    error_kind = serializers.CharField()
    revision = serializers.IntegerField()
    labels = LabelIn(many=True)
    unparseable = serializers.CharField()
    output = serializers.CharField(help_text="What a model printed, as it came.")


class LabelPage(serializers.Serializer[Any]):
    next = serializers.CharField(allow_null=True)
    results = LabellingOut(many=True)


class LabelRunIn(serializers.Serializer[Any]):
    labeller = serializers.CharField(help_text="Name of a judge: its model labels.")
    basis = serializers.CharField(help_text="Name of a judge of the run: what it finds missing failed.")
    taxonomy = serializers.CharField(default=OWN_VERSION)


class LabelRunOut(serializers.Serializer[Any]):
    labels = serializers.IntegerField(help_text="Responses that are due to be labelled.")


class OwnLabelsIn(serializers.Serializer[Any]):
    basis = serializers.CharField(help_text="Name of the judge whose verdict says which steps failed.")
    taxonomy = serializers.CharField(default=OWN_VERSION)
    labels = LabelIn(many=True)


def _rows(run: Run) -> Any:
    rows = run.labellings.select_related("labeller", "basis")
    return rows.annotate(item_number=F("response__release_item__item__number"))


def _labelling(row: Labelling) -> dict[str, Any]:
    return {
        "id": row.pk,
        "response": row.response_id,
        "item": row.item_number,  # type: ignore[attr-defined]  # annotated
        "labeller": row.labeller.name,
        "is_person": row.labeller.person_id is not None,
        "basis": row.basis.name,
        **{name: getattr(row, name) for name in ("taxonomy", "status", "error_kind", "revision", "labels")},
        "unparseable": row.unparseable,
        "output": row.output,
    }


def _judge(run: Run, name: str, path: str) -> Judge:
    judge = Judge.objects.filter(benchmark=run.benchmark_id, name=name).select_related("endpoint").first()
    if judge is None:
        raise Invalid.at(path, _("There is no judge “%s” here.") % name[:80])
    return judge


class LabelList(APIView):
    """The labels of a run's failed steps."""

    @extend_schema(operation_id="list_labels", responses={200: LabelPage, **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int) -> Reply:
        """Whoever may label reads the others' once the run's verdicts were revealed (POST verdicts/reveal/)."""
        run = get_run_for(request.user, slug, number)
        if may_record_verdict(request.user, run.benchmark) and not has_seen_verdicts(request.user, run):
            text = _("You may label yourself, and labels say what was judged: reveal the run's verdicts first.")
            raise NotAllowed(text, code="verdicts_hidden")
        page, following = page_of(request, _rows(run))
        return Reply({"next": following, "results": [_labelling(row) for row in page]})

    @extend_schema(
        operation_id="label_failures", request=LabelRunIn, responses={202: LabelRunOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Have a model label what a judge finds missing: one call for each response with something missing."""
        run = get_run_for(request.user, slug, number)
        data = read_body(LabelRunIn, request)
        labeller, basis = (_judge(run, data[path], path) for path in ("labeller", "basis"))
        count = label_failures(run, labeller, basis, data["taxonomy"], actor=person(request))
        return Reply({"labels": count}, status=202)


class OwnLabels(APIView):
    """The caller's own labels on one response."""

    @extend_schema(
        operation_id="record_labels", request=OwnLabelsIn, responses={200: LabellingOut, **NOT_FOUND, **RUN_REFUSED}
    )
    def put(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """Give or replace them; what is replaced stays in the run's events."""
        run = get_run_for(request.user, slug, number)
        response = get_response(run, pk)
        data = read_body(OwnLabelsIn, request)
        basis = _judge(run, data["basis"], "basis")
        row = record_labels(response, basis, data["taxonomy"], data["labels"], actor=person(request))
        return Reply(_labelling(_rows(run).get(pk=row.pk)))
