"""What the audit page of one item shows: the criteria with their answers, the evidence beside them, the moves.

Reads only. Views hand it to the templates; it decides nothing that an action would not decide again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Item
from annotation.diff import diff_documents
from annotation.document import SECTIONS, read_document
from annotation.draft_queries import draft_of
from annotation.findings import message_of
from annotation.gates import gates_shown
from annotation.models import Draft, Revision
from annotation.states import GATE_SECTIONS, Gate, GateStatus, State

from .duty import Duty
from .evidence import ANSWER, elements_to_tick
from .item_evidence import Evidence
from .link_queries import Link, links_of
from .locking import Condition, lock_conditions
from .models import CriterionResult, Review, Transition
from .permissions import (
    Standing,
    may_answer_point,
    may_judge_point,
    may_make_move,
    may_raise_candidate,
    may_review,
    may_vouch_link,
    require_not_blind,
    standing_of,
)
from .queries import (
    Tick,
    is_calibrated,
    last_review_of,
    latest_results,
    latest_ticks,
    open_ticks,
    revision_seen_in,
    transitions_of,
    what_pass_waits_for,
)
from .return_queries import PLACE, Points, point_rows, words_of
from .rows import (
    Changes,
    CriterionRow,
    GateChanges,
    Offer,
    TickGroup,
    TickRow,
    Wait,
)
from .text import gate_title, move_name
from .workflow import (
    CRITERIA,
    FEEDS,
    NEEDS_REASON,
    OPTIONAL_IN_SANDBOX,
    PHASES,
    Criterion,
    Move,
    Phase,
    is_fresh,
    next_state,
    phase_of,
)

REVIEW_DRAFT = "audit"  # the section under which unsent text of a review is kept

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
    "probes": "probes",
    "urls": "support",
    "breadth": "support",
    "inspectable": "non-text",
    "metadata": "metadata",
}


@dataclass
class Panel(Duty, Evidence):
    """Everything about an item's audit; the evidence is computed when a template asks for it."""

    user: Any
    standing: Standing
    phase: Phase | None
    results: Mapping[str, CriterionResult]
    ticks: Mapping[str, Tick]
    history: Sequence[Transition]
    reviewers: Sequence[Review]
    error: Any = None  # a DomainError of what was just tried
    typed: Mapping[str, str] = field(default_factory=dict)  # what was typed then
    typed_points: Sequence[Mapping[str, str]] = ()

    @property
    def sandbox(self) -> bool:
        return self.standing.sandbox

    @cached_property
    def draft(self) -> Draft | None:
        """What the person typed into this review and did not send."""
        return draft_of(self.item, REVIEW_DRAFT, self.user)

    @cached_property
    def gates(self) -> dict[str, dict[str, Any]]:
        return gates_shown(self.item)

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

    @cached_property
    def conditions(self) -> list[Condition]:
        """What locking asks for, once the item is approved."""
        return lock_conditions(self.item) if self.item.state == State.APPROVED else []

    def _waits_of(self, move: Move) -> list[Wait]:
        if move is Move.PASS and self.phase:
            words = {c.code: _("criterion %(n)d") % {"n": number} for number, c in enumerate(self.phase.criteria, 1)}
            words["points"] = _("the points of the return")
            return [
                Wait(words[code], "#points" if code == "points" else f"#k-{code}", sentence)
                for code, sentence in what_pass_waits_for(self.item, self.phase, self.results, self.ticks)
            ]
        if move is Move.SUBMIT:
            return self._unanswered() + self._errors()
        if move is Move.LOCK:
            return [Wait(condition.text, condition.href) for condition in self.conditions if not condition.met]
        return []

    def _unanswered(self) -> list[Wait]:
        missing = len(self.points.rows) - self.points.answered if self.points else 0
        if not missing:
            return []
        text = ngettext("an answer to %(n)d point", "answers to %(n)d points", missing) % {"n": missing}
        return [Wait(text, "#points")]

    def _errors(self) -> list[Wait]:
        if self.item.checked_hash != self.item.document_hash:
            return []  # the action runs the checks itself
        return [Wait(message_of(f), "#findings") for f in self.item.findings if f["level"] == "error"]

    @cached_property
    def points(self) -> Points | None:
        """What the latest return asked for, with the answers."""
        return point_rows(self.item, self.document)

    @property
    def may_answer(self) -> bool:
        return bool(may_answer_point(self.user, self.item))

    @property
    def may_accept(self) -> bool:
        return bool(may_judge_point(self.user, self.item))

    @cached_property
    def point_drafts(self) -> list[Mapping[str, str]]:
        """The list of a return as its form starts: what was typed, else what failed, was not supported or reopened."""
        blank = {"text": "", "anchor": "", "criterion": ""}
        if self.typed_points:
            return [*self.typed_points]
        drafts = [
            {"text": row.result.comment or row.title, "anchor": PLACE.get(row.criterion.code, ""),
             "criterion": row.criterion.code}
            for row in self.rows if row.status == "failed" and row.result
        ]  # fmt: skip
        if self.tick_criterion:
            drafts += [
                {"text": tick.tick.comment if tick.tick and tick.tick.comment else _("Its sources do not support it."),
                 "anchor": tick.key, "criterion": self.tick_criterion.criterion.code}
                for group in self.tick_groups for tick in group.rows if tick.word == "no"
            ]  # fmt: skip
        drafts += [
            {"text": _("Rule out “%(answer)s”: %(why)s") % {"answer": c.candidate.answer, "why": c.candidate.why},
             "anchor": "question", "criterion": "unique"} for c in self.candidates if c.is_open
        ]  # fmt: skip
        for row in self.points.rows if self.points else ():
            if row.point.accepted is False:
                point = row.point
                drafts.append({"text": point.text, "anchor": point.anchor, "criterion": point.criterion})
        return [*drafts, blank] if drafts else [blank]

    @cached_property
    def places(self) -> list[tuple[str, str]]:
        """(anchor, words) of what a point can be about, besides the whole item; sections without words."""
        lists: list[Sequence[Any]] = [self.document.nodes, self.document.relations, self.document.checklist]
        lists += [self.document.sources, self.document.images]
        keys = [*SECTIONS, ANSWER, *(element.key for elements in lists for element in elements)]
        return [(key, "" if key in SECTIONS else words_of(self.item.document, key)) for key in keys]

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
    def gate_changes(self) -> list[GateChanges]:
        """For stale gates the difference of their sections since the oldest answer that no longer holds."""
        since: dict[Gate, int] = {}
        for gate, shown in self.gates.items():
            stale = [r for code in FEEDS[Gate(gate)] if (r := self.results.get(code)) and not self._is_fresh(r)]
            if shown["status"] == GateStatus.STALE and stale:
                since[Gate(gate)] = min(row.revision_number for row in stale)  # type: ignore[attr-defined]
        seen = Revision.objects.filter(item=self.item, number__in=set(since.values())) if since else ()
        changes = {r.number: diff_documents(read_document(r.document), self.document) for r in seen}
        groups: dict[tuple[int, tuple[str, ...]], GateChanges] = {}
        for gate, number in since.items():
            found = [change for change in changes[number] if change.section in GATE_SECTIONS[gate]]
            group = groups.setdefault((number, tuple(c.path for c in found)), GateChanges([], number, found))
            group.titles.append(gate_title(gate))
        return list(groups.values())

    def _is_fresh(self, result: CriterionResult) -> bool:
        return is_fresh(CRITERIA[result.criterion], result.section_hashes, self.item.section_hashes)

    @property
    def may_raise(self) -> Any:
        return may_raise_candidate(self.user, self.item)

    @cached_property
    def tick_criterion(self) -> CriterionRow | None:
        """The criterion of the present phase that is answered element by element."""
        return next((row for row in self.rows if row.criterion.ticks), None)

    @cached_property
    def links(self) -> dict[str, Link]:
        """What is known of each source's URL, where its ticks are asked for."""
        return links_of(self.item) if self.tick_criterion and self.tick_criterion.criterion.code == "urls" else {}

    @cached_property
    def may_vouch(self) -> Any:
        return may_vouch_link(self.user, self.item, standing=self.standing)

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

    def tick_row(self, key: str) -> TickRow | None:
        return next((row for group in self.tick_groups for row in group.rows if row.key == key), None)


def panel_of(item: Item, user: Any) -> Panel:
    """The panel of an item that the person may see (`get_item_for` said so).

    Raises NotAllowed for who audits the item blind: this is what they must not see.
    """
    standing = standing_of(user, item)
    require_not_blind(user, item, standing=standing)
    return Panel(
        item=item,
        user=user,
        standing=standing,
        document=read_document(item.document),
        phase=phase_of(State(item.state)),
        results=latest_results(item),
        ticks=latest_ticks(item),
        history=list(transitions_of(item)),
        reviewers=list(Review.objects.filter(item=item, ended=None).select_related("auditor").order_by("started")),
    )
