"""What the probes and the gradeability of one item show. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from annotation.benchmarks import Item
from annotation.document import Document, read_document
from audit import probes
from audit.probes import GradeCheck, Probe

from .models import Judge, System
from .queries import asked_systems_of, model_judges_of
from .requests import has_web, refusing_collection
from .scoring.metrics import credited_steps
from .scoring.solve_rate import rule_of_three, upper_bound

CASE_WORDS = {
    "full": lambda: _("The whole solution"),
    "without": lambda: _("Without step %(n)s"),
    "empty": lambda: _("An empty response"),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """What the looked-at answers of one system under one condition say about how often it would solve the item."""

    name: str
    with_image: bool
    asked: int
    found: int
    open: int  # asked and not looked at, or failed: no evidence

    @property
    def condition(self) -> str:
        return probes.condition_name(self.with_image)

    @property
    def bound(self) -> float:
        return upper_bound(self.found, self.asked)

    @property
    def three(self) -> float | None:
        return rule_of_three(self.asked) if self.asked and not self.found else None


@dataclass
class ProbePanel:
    item: Item
    user: Any

    @cached_property
    def document(self) -> Document:
        return read_document(self.item.document)

    @cached_property
    def probes(self) -> list[Probe]:
        return probes.probes_of(self.item)

    @cached_property
    def gaps(self) -> list[str]:
        return probes.probe_gaps(self.item, self.probes)

    @property
    def stale(self) -> int:
        return sum(not probe.is_fresh for probe in self.probes)

    @cached_property
    def plan(self) -> Any:
        return probes.plan_of(self.item.benchmark)

    @cached_property
    def may_ask(self) -> Any:
        return probes.may_probe(self.user, self.item)

    @cached_property
    def may_give_word(self) -> Any:
        return probes.may_give_word(self.user, self.item)

    @property
    def left(self) -> int | None:
        """Probes that the author of a draft has left; None for an auditor."""
        if not self.may_ask or self.may_give_word:
            return None
        return probes.author_probes_left(self.item, self.plan)

    @cached_property
    def systems(self) -> list[System]:
        return list(asked_systems_of(self.item.benchmark))

    @cached_property
    def judges(self) -> list[Judge]:
        return list(model_judges_of(self.item.benchmark))

    @property
    def refusing(self) -> list[str]:
        """Names of the systems whose service is told to keep nothing."""
        addresses = [(s.name, s.endpoint.base_url) for s in self.systems if s.endpoint]
        return [name for name, base_url in addresses if refusing_collection(base_url, {}).get("provider")]

    @cached_property
    def rates(self) -> list[Rate]:
        """By system and condition, of probes of the present question and images."""
        fresh = [probe for probe in self.probes if probe.is_fresh]
        keys = sorted({(p.system_name, not p.with_image) for p in fresh})
        rates = []
        for name, without in keys:
            mine = [p for p in fresh if (p.system_name, not p.with_image) == (name, without)]
            seen = [p for p in mine if p.has_word]
            rates.append(Rate(name, not without, len(seen), sum(p.found for p in seen), len(mine) - len(seen)))
        return rates


def system_label(system: System) -> str:
    parts = [system.model]
    if has_web(system.model, system.extra_body):
        parts.append(_("web search"))
    if system.image_mode == "none":
        parts.append(_("withholds images"))
    if system.is_demo:
        parts.append(_("demo: recorded answers"))
    return f"{system.name} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case of a grade check: what was to be marked, what the judge made of it."""

    label: str
    expected: int
    credited: int | None
    answer: bool | None
    ok: bool | None
    unparseable: str
    output: str
    steps: int
    wrong: Sequence[int]  # numbers of the steps whose credit is not as it should be


@dataclass
class GradePanel:
    item: Item
    user: Any

    @cached_property
    def checks(self) -> list[GradeCheck]:
        return probes.grade_checks_of(self.item)

    @cached_property
    def may(self) -> Any:
        return probes.may_give_word(self.user, self.item)

    @cached_property
    def judges(self) -> list[Judge]:
        return list(model_judges_of(self.item.benchmark))

    @cached_property
    def condition(self) -> tuple[str, bool]:
        return probes.lock_condition(self.item)

    @property
    def is_open(self) -> bool:
        return any(check.is_open for check in self.checks)

    @cached_property
    def latest(self) -> GradeCheck | None:
        return self.checks[0] if self.checks else None

    @cached_property
    def rows(self) -> list[CaseRow]:
        return case_rows(self.latest) if self.latest else []


def case_rows(check: GradeCheck) -> list[CaseRow]:
    document = probes.probe_subject(check)
    needs = document.prerequisite_positions()
    numbers = {step.key: number for number, step in enumerate(document.checklist, 1)}
    rows = []
    for case in check.cases:
        credit = credited_steps(case["vector"], needs) if case["vector"] is not None else None
        pairs = zip(credit or (), case["expected"], strict=False)
        rows.append(
            CaseRow(
                label=CASE_WORDS[case["case"]]() % {"n": numbers.get(case["without"], "?")},
                expected=sum(case["expected"]),
                credited=None if credit is None else sum(credit),
                answer=case["answer"],
                ok=case["ok"],
                unparseable=case["unparseable"],
                output=case["output"],
                steps=len(case["expected"]),
                wrong=[number for number, (got, due) in enumerate(pairs, 1) if got != due],
            )
        )
    return rows
