"""Shortcut probes and gradeability over HTTP: asking, listing, a person's word, an answer from elsewhere."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response as Reply
from rest_framework.views import APIView

from annotation.benchmarks import Item, get_item_for
from audit import probes
from audit.probes import GradeCheck, Probe
from lhdr_site.shared.api import CHANGED, NOT_FOUND, PAGING, REFUSED, page_of, page_out, person, read_body
from lhdr_site.shared.errors import Invalid

from . import probe_actions
from .api import named_rows
from .models import Condition, Judge, System
from .probe_panel import GradePanel, ProbePanel
from .queries import model_judges_of


class ConditionField(serializers.ChoiceField):
    """with_image or without_image, as runs say it; kept as whether images are sent."""

    def to_representation(self, value: Any) -> str:
        return str(Condition.WITH_IMAGE if value else Condition.WITHOUT_IMAGE)


class ProbeOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    origin = serializers.CharField(help_text=", ".join(Probe.Origin.values))
    system = serializers.CharField(source="system_name")
    vendor = serializers.CharField()
    model = serializers.CharField()
    condition = ConditionField(source="with_image", choices=Condition.values)
    revision = serializers.IntegerField(source="revision_number")
    is_fresh = serializers.BooleanField(help_text="Question and images are still those that were sent.")
    status = serializers.CharField(help_text=", ".join(Probe.Status.values))
    error = serializers.CharField()
    text = serializers.CharField(help_text="The answer.")
    truncated = serializers.BooleanField()
    citations = serializers.ListField(child=serializers.DictField())
    cost = serializers.DecimalField(max_digits=12, decimal_places=6, allow_null=True, help_text="USD; null: unknown.")
    judge = serializers.CharField(source="judge_name")
    judge_recovered = serializers.BooleanField(allow_null=True)
    recovered = serializers.BooleanField(allow_null=True, help_text="A person's word; it stands over the judge's.")
    path = serializers.CharField(help_text=", ".join(Probe.Path.values))
    comment = serializers.CharField()
    seen_by = serializers.CharField(source="seen_by.username", allow_null=True)
    seen = serializers.DateTimeField(allow_null=True)
    found = serializers.BooleanField(help_text="It shows a shortcut.")
    requested_by = serializers.CharField(source="requested_by.username")
    created = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)


class AskProbesIn(serializers.Serializer[Any]):
    systems = serializers.ListField(child=serializers.CharField(max_length=80), max_length=50, help_text="Names.")
    conditions = serializers.ListField(child=serializers.ChoiceField(choices=Condition.values), max_length=2)
    times = serializers.IntegerField(min_value=1, max_value=10, default=1, help_text="Each.")
    judge = serializers.CharField(
        max_length=80, required=False, default="", allow_blank=True, help_text="Name; without one people judge alone."
    )


class PasteProbeIn(serializers.Serializer[Any]):
    system_name = serializers.CharField(max_length=200, help_text="For example the name of a chat page.")
    vendor = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    model = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    condition = serializers.ChoiceField(choices=Condition.values)
    when = serializers.DateTimeField(help_text="When the answer was given.")
    text = serializers.CharField(max_length=200_000, trim_whitespace=False, help_text="The answer.")


class ProbeWordIn(serializers.Serializer[Any]):
    recovered = serializers.BooleanField(help_text="The answer is the right one.")
    path = serializers.ChoiceField(choices=Probe.Path.values, help_text="The direct path that led there.")
    comment = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=10_000, help_text="How it was found; needed then."
    )


class AgainIn(serializers.Serializer[Any]):
    judge = serializers.CharField(
        max_length=80, required=False, default="", allow_blank=True, help_text="Name; where there is an answer."
    )


class GradeCheckOut(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    judge = serializers.CharField(source="judge_name")
    status = serializers.CharField(help_text=", ".join(GradeCheck.Status.values))
    is_fresh = serializers.BooleanField(help_text="Question, answer and checklist are still those that were judged.")
    revision = serializers.IntegerField(source="revision_number")
    cases = serializers.ListField(
        child=serializers.DictField(), help_text="Each: what was left out, what is due, what the judge credited, ok."
    )
    error = serializers.CharField()
    requested_by = serializers.CharField(source="requested_by.username")
    created = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)


class GradeIn(serializers.Serializer[Any]):
    judge = serializers.CharField(max_length=80, help_text="Name.")
    every_step = serializers.BooleanField(
        required=False, default=False, help_text="Leave out each step in turn, not a middle one alone."
    )


def _one(rows: QuerySet[Any], name: str, path: str) -> Any:
    """The row of this name, None for no name. Raises Invalid that lists what there is."""
    if not name:
        return None
    problems: list[dict[str, str]] = []
    found = named_rows(rows, [name], path, problems)
    if problems:
        raise Invalid.of(problems)
    return found[0]


def _item_of(request: Request, slug: str, number: int) -> Item:
    """Not for who audits the item blind at the moment."""
    item = get_item_for(request.user, slug, number)
    probes.require_not_blind(request.user, item)
    return item


class ProbeList(APIView):
    """An item's shortcut probes, the newest first; and asking systems."""

    @extend_schema(
        operation_id="list_probes",
        parameters=PAGING,
        responses={200: page_out(ProbeOut), 403: REFUSED[403], **NOT_FOUND},
    )
    def get(self, request: Request, slug: str, number: int) -> Reply:
        item = _item_of(request, slug, number)
        page, following = page_of(request, probes.probe_rows(item), newest_first=True)
        return Reply({"next": following, "results": ProbeOut(page, many=True).data})

    @extend_schema(
        operation_id="ask_probes",
        request=AskProbesIn,
        responses={201: ProbeOut(many=True), **NOT_FOUND, **REFUSED},
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Each system is asked `times` times under each condition; workers start at once."""
        item = _item_of(request, slug, number)
        ProbePanel(item, request.user).may_ask.require()
        data = read_body(AskProbesIn, request)
        problems: list[dict[str, str]] = []
        systems = System.objects.filter(benchmark=item.benchmark).select_related("endpoint")
        chosen = named_rows(systems, list(dict.fromkeys(data["systems"])), "systems", problems)
        if problems:
            raise Invalid.of(problems)
        made = probe_actions.launch_probes(
            item,
            systems=chosen,
            conditions=[each == Condition.WITH_IMAGE for each in dict.fromkeys(data["conditions"])],
            times=data["times"],
            judge=_one(model_judges_of(item.benchmark), data["judge"], "judge"),
            actor=person(request),
        )
        rows = probes.probe_rows(item).filter(pk__in=[probe.pk for probe in made]).order_by("pk")
        return Reply(ProbeOut(rows, many=True).data, status=201)


class ProbePaste(APIView):
    """An answer that was got elsewhere, marked as such."""

    @extend_schema(operation_id="paste_probe", request=PasteProbeIn, responses={201: ProbeOut, **NOT_FOUND, **REFUSED})
    def post(self, request: Request, slug: str, number: int) -> Reply:
        item = _item_of(request, slug, number)
        probes.may_give_word(request.user, item).require()
        data = read_body(PasteProbeIn, request)
        data["with_image"] = data.pop("condition") == Condition.WITH_IMAGE
        made = probes.paste_probe(item, data, actor=person(request))
        return Reply(ProbeOut(probes.get_probe(item, made.pk)).data, status=201)


class ProbeDetail(APIView):
    """One probe with its answer."""

    @extend_schema(operation_id="get_probe", responses={200: ProbeOut, 403: REFUSED[403], **NOT_FOUND})
    def get(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        item = _item_of(request, slug, number)
        return Reply(ProbeOut(probes.get_probe(item, pk)).data)


class ProbeWord(APIView):
    """A person's word on an answer."""

    @extend_schema(
        operation_id="judge_probe",
        request=ProbeWordIn,
        responses={200: ProbeOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def put(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        """It stands over the judge's, and replaces an earlier one."""
        item = _item_of(request, slug, number)
        probe = probes.get_probe(item, pk)
        probes.may_give_word(request.user, item).require()
        probes.judge_probe(probe, **read_body(ProbeWordIn, request), actor=person(request))
        return Reply(ProbeOut(probes.get_probe(item, pk)).data)


class ProbeAgain(APIView):
    """Asking the system again where it brought no answer; where there is one, a judge about it."""

    @extend_schema(
        operation_id="ask_probe_again",
        request=AgainIn,
        responses={200: ProbeOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        item = _item_of(request, slug, number)
        probe = probes.get_probe(item, pk)
        ProbePanel(item, request.user).may_ask.require()
        judge = _one(model_judges_of(item.benchmark), read_body(AgainIn, request)["judge"], "judge")
        probe_actions.ask_again(probe, judge=judge, actor=person(request))
        return Reply(ProbeOut(probes.get_probe(item, pk)).data)


class GradeCheckList(APIView):
    """Whether a judge grades an item's written-out solution as it should: the checks, the newest first."""

    @extend_schema(
        operation_id="list_grade_checks", parameters=PAGING, responses={200: page_out(GradeCheckOut), **NOT_FOUND}
    )
    def get(self, request: Request, slug: str, number: int) -> Reply:
        item = get_item_for(request.user, slug, number, with_document=False)
        page, following = page_of(request, probes.grade_check_rows(item), newest_first=True)
        return Reply({"next": following, "results": GradeCheckOut(page, many=True).data})

    @extend_schema(
        operation_id="check_gradeability",
        request=GradeIn,
        responses={201: GradeCheckOut, **NOT_FOUND, **REFUSED, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int) -> Reply:
        """Have a judge mark the solution: whole, without a step, and nothing. 409 while one is under way."""
        item = get_item_for(request.user, slug, number)
        GradePanel(item, request.user).may.require()
        data = read_body(GradeIn, request)
        judge: Judge = _one(model_judges_of(item.benchmark), data["judge"], "judge")
        made = probe_actions.check_gradeability(item, judge, every_step=data["every_step"], actor=person(request))
        return Reply(GradeCheckOut(probes.get_grade_check(item, made.pk)).data, status=201)


class GradeCheckAgain(APIView):
    """Going on with the cases that could not be judged."""

    @extend_schema(
        operation_id="check_gradeability_again",
        request=None,
        responses={200: GradeCheckOut, 403: REFUSED[403], **NOT_FOUND, **CHANGED},
    )
    def post(self, request: Request, slug: str, number: int, pk: int) -> Reply:
        item = get_item_for(request.user, slug, number)
        probe_actions.check_gradeability_again(probes.get_grade_check(item, pk), actor=person(request))
        return Reply(GradeCheckOut(probes.get_grade_check(item, pk)).data)
