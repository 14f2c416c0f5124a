"""What the audit page of one item shows: the criteria with their answers, the evidence beside them, the moves.

Reads only. Views hand it to the templates; it decides nothing that an action would not decide again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import graph
from annotation.benchmarks import Item
from annotation.diff import Change, diff_documents
from annotation.document import Document, Image, Source, Step, read_document
from annotation.drawing import Drawing, draw_checklist, draw_graph
from annotation.findings import message_of
from annotation.models import Revision, StoredImage
from annotation.queries import labels_of
from annotation.states import GateStatus, State

from .evidence import ANSWER, elements_to_tick
from .models import CriterionResult, Review, Transition
from .permissions import Standing, may_make_move, may_review, standing_of
from .queries import (
    Tick,
    gate_statuses,
    is_calibrated,
    last_review_of,
    latest_results,
    latest_ticks,
    open_ticks,
    revision_seen_in,
    transitions_of,
    what_pass_waits_for,
)
from .text import gate_title, move_name
from .workflow import (
    NEEDS_REASON,
    OPTIONAL_IN_SANDBOX,
    PHASES,
    Criterion,
    Move,
    Phase,
    gates_in_the_way,
    is_fresh,
    next_state,
    phase_of,
)

# Which part of the page holds the evidence for a criterion.
EVIDENCE = {
    "pilot_graph": "seen",
    "pilot_convergence": "answer",
    "pilot_leakage": "seen",
    "pilot_checklist": "breaks",
    "pilot_multimodal": "non-text",
    "pilot_answer": "answer",
    "chain": "seen",
    "path": "seen",
    "minimal": "breaks",
    "support": "support",
    "unique": "answer",
    "public": "findings",
    "non_text": "non-text",
    "changes_state": "non-text",
    "probes": "seen",
    "urls": "support",
    "breadth": "support",
    "inspectable": "non-text",
    "metadata": "metadata",
}


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion with its latest answer."""

    number: int
    criterion: Criterion
    title: str
    help: str
    status: str  # passed, failed, stale, open
    result: CriterionResult | None
    optional: bool
    evidence: str
    ticked: int = 0
    to_tick: int = 0

    @property
    def is_open(self) -> bool:
        return self.status in ("open", "stale")


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that a move waits for, and where on the page it is seen to."""

    text: str
    href: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A move that the item's state allows: who may make it and what it waits for."""

    move: Move
    label: str
    denied: str  # why this person may not; "" when they may
    waits: Sequence[Wait]  # what is still missing; empty when it can be made now
    needs_reason: bool

    @property
    def is_open(self) -> bool:
        return not self.denied and not self.waits


@dataclass(frozen=True, slots=True)
class TickRow:
    """One element to tick: what must be supported, by which sources, and the latest word on it."""

    key: str
    text: str
    more: str
    sources: Sequence[Source]
    missing: Sequence[str]  # keys of sources it names that do not exist
    tick: Tick | None

    @property
    def word(self) -> str:
        """yes, no, or "" when nobody said so of the present content."""
        if self.tick is None or not self.tick.holds:
            return ""
        return "yes" if self.tick.supported else "no"


@dataclass(frozen=True, slots=True)
class TickGroup:
    title: str
    rows: Sequence[TickRow]

    @property
    def done(self) -> int:
        return sum(row.word == "yes" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the question; `number` counts the marked ones from 1, 0 is plain text."""

    text: str
    number: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    image: Image
    is_stored: bool


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step and what would not hold without it."""

    number: int
    step: Step
    loses: str
    needed: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since the person last judged the item."""

    review: Review
    seen: Revision
    asked: str
    changes: Sequence[Change]


@dataclass
class Panel:
    """Everything about an item's audit; the evidence is computed when a template asks for it."""

    item: Item
    user: Any
    standing: Standing
    document: Document
    phase: Phase | None
    results: Mapping[str, CriterionResult]
    ticks: Mapping[str, Tick]
    history: Sequence[Transition]
    reviewers: Sequence[Review]
    error: Any = None  # a DomainError of what was just tried
    typed: Mapping[str, str] = field(default_factory=dict)  # what was typed then

    @property
    def sandbox(self) -> bool:
        return self.standing.sandbox

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of each category and tag of the benchmark, by slug."""
        labels = labels_of(self.item.benchmark)
        return labels["category"] | labels["operation_tags"]

    @property
    def category(self) -> str:
        slug = self.document.category or "–"
        return self.names.get(slug, slug)

    @property
    def tags(self) -> str:
        return ", ".join(self.names.get(slug, slug) for slug in self.document.operation_tags) or "–"

    @cached_property
    def gates(self) -> dict[str, str]:
        return gate_statuses(self.item)

    @cached_property
    def may_judge(self) -> Any:
        return may_review(self.user, self.item, standing=self.standing)

    @cached_property
    def phases(self) -> list[tuple[Phase, str, str]]:
        """(phase, its title, done | now | open) of all four."""
        state = State(self.item.state)
        order = [phase.state for phase in PHASES]
        after = state in (State.APPROVED, State.LOCKED)
        now = order.index(state) if state in order else (len(order) if after else 0)
        shown = []
        for position, phase in enumerate(PHASES):
            place = "done" if position < now else "now" if position == now and state in order else "open"
            shown.append((phase, _(phase.title), place))
        return shown

    def rows_of(self, phase: Phase) -> list[CriterionRow]:
        rows = []
        for number, criterion in enumerate(phase.criteria, 1):
            result = self.results.get(criterion.code)
            keys = elements_to_tick(self.item.document, criterion.code) if criterion.ticks else []
            rows.append(
                CriterionRow(
                    number=number,
                    criterion=criterion,
                    title=_(criterion.title),
                    help=_(criterion.help),
                    status=self._status(criterion, result),
                    result=result,
                    optional=self.sandbox and criterion.code in OPTIONAL_IN_SANDBOX,
                    evidence=EVIDENCE[criterion.code],
                    to_tick=len(keys),
                    ticked=len(keys) - len(open_ticks(self.item, criterion.code, self.ticks)) if keys else 0,
                )
            )
        return rows

    def _status(self, criterion: Criterion, result: CriterionResult | None) -> str:
        if result is None:
            return GateStatus.OPEN.value
        if not is_fresh(criterion, result.section_hashes, self.item.section_hashes):
            return GateStatus.STALE.value
        return (GateStatus.PASSED if result.passed else GateStatus.FAILED).value

    @cached_property
    def rows(self) -> list[CriterionRow]:
        return self.rows_of(self.phase) if self.phase else []

    @property
    def answered(self) -> int:
        return sum(not row.is_open for row in self.rows)

    @cached_property
    def current(self) -> str:
        """Code of the first criterion that waits for an answer."""
        return next((row.criterion.code for row in self.rows if row.is_open), "")

    @cached_property
    def earlier(self) -> list[tuple[Phase, str, list[CriterionRow]]]:
        """Other phases that have answers, with them."""
        shown = []
        for phase in PHASES:
            if phase is not self.phase and any(c.code in self.results for c in phase.criteria):
                shown.append((phase, _(phase.title), self.rows_of(phase)))
        return shown

    # --- moves ------------------------------------------------------------------------------------------------

    @cached_property
    def offers(self) -> dict[str, Offer]:
        """The moves out of the present state, by their names."""
        state = State(self.item.state)
        found = {}
        for move in Move:
            if move is Move.LOCK_IMPORTED or next_state(state, move) is None:
                continue
            answer = may_make_move(self.user, self.item, move, standing=self.standing)
            found[move.value] = Offer(
                move=move,
                label=move_name(move),
                denied="" if answer else answer.reason,
                waits=self._waits_of(move),
                needs_reason=move in NEEDS_REASON,
            )
        return found

    def _waits_of(self, move: Move) -> list[Wait]:
        if move is Move.PASS and self.phase:
            numbers = {criterion.code: number for number, criterion in enumerate(self.phase.criteria, 1)}
            return [
                Wait(_("criterion %(n)d") % {"n": numbers[code]}, f"#k-{code}", sentence)
                for code, sentence in what_pass_waits_for(self.item, self.phase, self.results, self.ticks)
            ]
        if move is Move.SUBMIT:
            return self._errors()
        if move is Move.LOCK:
            blocked = gates_in_the_way(self.item.gates, self.item.section_hashes, sandbox=self.sandbox)
            waits = [Wait(f"{gate_title(gate)} ({_GATE_WORDS[status]()})", "#audit-gates") for gate, status in blocked]
            if count := self.item.blocking_comments:
                text = ngettext("%(n)d blocking comment", "%(n)d blocking comments", count) % {"n": count}
                waits.append(Wait(text, ""))
            return waits + self._errors()
        return []

    def _errors(self) -> list[Wait]:
        if self.item.checked_hash != self.item.document_hash:
            return []  # the action runs the checks itself
        return [Wait(message_of(f), "#findings") for f in self.item.findings if f["level"] == "error"]

    @property
    def last_reason(self) -> Transition | None:
        """Why the item is where it is, when a person had to say so."""
        last = self.history[0] if self.history else None
        return last if last is not None and last.reason else None

    @cached_property
    def author_is_calibrated(self) -> bool:
        return is_calibrated(self.item.author, self.item.benchmark)

    # --- evidence ---------------------------------------------------------------------------------------------

    @cached_property
    def changed(self) -> Changes | None:
        review = last_review_of(self.user, self.item)
        seen = revision_seen_in(review) if review else None
        if review is None or seen is None or seen.document_hash == self.item.document_hash:
            return None
        asked = next(
            (t.reason for t in self.history if t.actor_id == self.user.pk and t.move in (Move.RETURN, Move.REJECT)), ""
        )
        return Changes(review, seen, asked, diff_documents(read_document(seen.document), self.document))

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        return self.item.findings if self.item.checked_hash == self.item.document_hash else []

    @cached_property
    def leaks(self) -> list[dict[str, Any]]:
        """Findings that mark a place of the question."""
        return [finding for finding in self.findings if finding["spans"]]

    @cached_property
    def question(self) -> list[Piece]:
        return marked(self.document.question, self.leaks)

    @cached_property
    def pictures(self) -> list[Picture]:
        stored = set(
            StoredImage.objects.filter(
                benchmark=self.item.benchmark, sha256__in=[i.sha256 for i in self.document.images if i.sha256]
            ).values_list("sha256", flat=True)
        )
        return [Picture(image, image.sha256 in stored) for image in self.document.images]

    @property
    def question_pictures(self) -> list[Picture]:
        return [picture for picture in self.pictures if picture.image.role == "question"]

    @cached_property
    def drawn_graph(self) -> Drawing:
        return draw_graph(self.document)

    @cached_property
    def drawn_checklist(self) -> Drawing:
        return draw_checklist(self.document)

    @cached_property
    def figures(self) -> graph.Figures:
        return graph.item_figures(self.document)

    @cached_property
    def structure(self) -> dict[str, int]:
        needs = self.document.prerequisite_positions()
        return {
            "sinks": len(graph.sinks(needs)),
            "dead": len(graph.dead_steps(needs)),
            "redundant": len(graph.redundant_edges(needs)),
        }

    @cached_property
    def steps(self) -> list[StepRow]:
        at = self.document.step_positions
        last = len(self.document.checklist)
        rows = []
        for number, step in enumerate(self.document.checklist, 1):
            broken = graph.what_breaks(self.document, step.key)
            below = [at[key] + 1 for key in broken.descendants]
            if below and len(below) == last - 1:
                loses = _("all others")
            else:
                loses = ranges(below) or (_("final step") if number == last else _("nothing"))
            rows.append(StepRow(number, step, loses, broken.answer))
        return rows

    @cached_property
    def non_text_steps(self) -> list[StepRow]:
        return [row for row in self.steps if graph.is_non_text(row.step.modality)]

    @cached_property
    def tick_criterion(self) -> CriterionRow | None:
        """The criterion of the present phase that is answered element by element."""
        return next((row for row in self.rows if row.criterion.ticks), None)

    @cached_property
    def tick_groups(self) -> list[TickGroup]:
        if self.tick_criterion is None:
            return []
        document = self.document
        if self.tick_criterion.criterion.code == "urls":
            rows = [TickRow(s.key, s.title or s.url, s.claim, [s], [], self.ticks.get(s.key)) for s in document.sources]
            return [TickGroup(_("Sources"), rows)]
        return [
            TickGroup(
                _("Nodes"),
                [
                    self._tick_row(
                        node.key,
                        node.entity,
                        "; ".join(f"{p.name}: {p.value}" for p in node.properties),
                        [*node.sources, *(key for p in node.properties for key in p.sources)],
                    )
                    for node in document.nodes
                ],
            ),
            TickGroup(
                _("Relations"),
                [
                    self._tick_row(r.key, r.via or r.description, f"{r.from_node} → {r.to_node}", r.sources)
                    for r in document.relations
                ],
            ),
            TickGroup(_("Steps"), [self._tick_row(s.key, s.conclusion, "", s.sources) for s in document.checklist]),
            TickGroup(_("Answer"), [self._tick_row(ANSWER, document.answer, "", document.answer_sources)]),
        ]

    def _tick_row(self, key: str, text: str, more: str, sources: Sequence[str]) -> TickRow:
        named = list(dict.fromkeys(sources))
        there = [self._source_at[k] for k in named if k in self._source_at]
        missing = [k for k in named if k not in self._source_at]
        return TickRow(key, text, more, there, missing, self.ticks.get(key))

    @cached_property
    def _source_at(self) -> dict[str, Source]:
        return {source.key: source for source in self.document.sources}

    def tick_row(self, key: str) -> TickRow | None:
        return next((row for group in self.tick_groups for row in group.rows if row.key == key), None)


def panel_of(item: Item, user: Any) -> Panel:
    """The panel of an item that the person may see (`get_item_for` said so)."""
    return Panel(
        item=item,
        user=user,
        standing=standing_of(user, item),
        document=read_document(item.document),
        phase=phase_of(State(item.state)),
        results=latest_results(item),
        ticks=latest_ticks(item),
        history=list(transitions_of(item)),
        reviewers=list(Review.objects.filter(item=item, ended=None).select_related("auditor").order_by("started")),
    )


def marked(text: str, findings: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """The text in pieces, with the spans of findings marked and numbered; overlapping ones count as one piece each."""
    cuts = {0, len(text)}
    for finding in findings:
        for start, end in finding["spans"]:
            cuts |= {min(start, len(text)), min(end, len(text))}
    return [_piece(text, start, end, findings) for start, end in pairwise(sorted(cuts))]


def _piece(text: str, start: int, end: int, findings: Sequence[Mapping[str, Any]]) -> Piece:
    for number, finding in enumerate(findings, 1):
        if any(low <= start and end <= high for low, high in finding["spans"]):
            return Piece(text[start:end], number, message_of(finding))
    return Piece(text[start:end])


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in words: [3, 4, 5, 7] is "3 to 5, 7"; two in a row stay apart."""
    return ", ".join(_spelled(first, last) for first, last in _runs(numbers))


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for number in numbers:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last


def _spelled(first: int, last: int) -> str:
    if last - first < 2:
        return ", ".join(map(str, range(first, last + 1)))
    return _("%(first)d to %(last)d") % {"first": first, "last": last}


_GATE_WORDS = {
    GateStatus.OPEN: lambda: _("open"),
    GateStatus.FAILED: lambda: _("failed"),
    GateStatus.STALE: lambda: _("stale"),
}
