"""Reads of blind second audits: who may take which, what the two said, agreement and residual error. Writes nothing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import Http404

from annotation.benchmarks import Benchmark, Item
from annotation.document import read_document
from annotation.models import Revision

from .agreement import RESAMPLES, Agreement, Estimate, agreement, wilson
from .models import BlindAudit, BlindResult, CriterionResult, Review, Transition
from .workflow import CRITERIA, PHASES, Criterion, is_fresh, required_criteria

SEED: Final = 0  # of the resamples
#: What a second auditor answers: phases 2 to 4, in their order.
BLIND: Final[tuple[Criterion, ...]] = tuple(c for phase in PHASES[1:] for c in phase.criteria)
Kind = BlindAudit.Kind


def required_of(benchmark: Benchmark) -> list[str]:
    """Codes of the criteria that a blind audit must answer before it ends."""
    return [c.code for phase in PHASES[1:] for c in required_criteria(phase, sandbox=benchmark.is_sandbox)]


# --- who and what -------------------------------------------------------------------------------------------------


def touched(user: Any) -> Q:
    """Of items: those that the person judged, moved or edited."""
    return (
        Q(Exists(Review.objects.filter(item=OuterRef("pk"), auditor=user)))
        | Q(Exists(Transition.objects.filter(item=OuterRef("pk"), actor=user)))
        | Q(Exists(Revision.objects.filter(item=OuterRef("pk"), author=user)))
    )


def open_blind_audit(user: Any, item: Item) -> BlindAudit | None:
    """The blind audit of the item that the person has taken and not ended."""
    return BlindAudit.objects.filter(item=item, auditor=user, ended=None).first()


def blind_items_of(user: Any) -> QuerySet[Any]:
    """Keys of the items of which the person has an open blind audit."""
    return BlindAudit.objects.filter(auditor_id=user.pk, ended=None).values("item")


def _listed(benchmark: Benchmark) -> QuerySet[BlindAudit]:
    """With how many criteria are answered, and without documents."""
    rows = BlindAudit.objects.filter(benchmark=benchmark).select_related("item__author", "auditor", "created_by")
    answered = Count("results__criterion", filter=Q(results__adjudicates=False), distinct=True)
    return rows.defer("item__document", "item__findings").annotate(answered=answered).order_by("pk")


def my_blind_audits(user: Any, benchmark: Benchmark) -> QuerySet[BlindAudit]:
    """Those the person has taken, open ones first."""
    return _listed(benchmark).filter(auditor=user).order_by("ended", "pk")


def waiting_blind_audits(user: Any, benchmark: Benchmark) -> QuerySet[BlindAudit]:
    """Those that nobody has taken and the person may: not on an item that they wrote, judged or edited."""
    coedited = Item.coeditors.through._default_manager.filter(item=OuterRef("pk"), user=user)
    others = Item.objects.filter(benchmark=benchmark).exclude(touched(user) | Q(author=user) | Exists(coedited))
    return _listed(benchmark).filter(auditor=None, item__in=others.values("pk"))


def get_blind_audit(benchmark: Benchmark, pk: int) -> BlindAudit:
    """Raises Http404 when the benchmark has no such blind audit."""
    rows = BlindAudit.objects.select_related("item__benchmark", "item__author", "revision", "auditor")
    row = rows.filter(benchmark=benchmark, pk=pk).first()
    if row is None:
        raise Http404
    return row


def blind_results(audit: BlindAudit) -> dict[str, BlindResult]:
    """The auditor's latest answer per criterion, without adjudications."""
    return {row.criterion: row for row in audit.results.filter(adjudicates=False).order_by("pk")}


# --- what the two said --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """One criterion of one item as two people answered it. Without a first answer (a lock without audit) it passed."""

    audit: BlindAudit
    criterion: str
    first: CriterionResult | None
    second: BlindResult
    third: BlindResult | None

    @property
    def first_passed(self) -> bool:
        return self.first is None or self.first.passed

    @property
    def agrees(self) -> bool:
        return self.first_passed == self.second.passed

    @property
    def passed(self) -> bool | None:
        """The adjudicated word; None while the two disagree and no third person has decided."""
        if self.agrees:
            return self.second.passed
        return self.third.passed if self.third else None


def pairs_of(audits: Sequence[BlindAudit]) -> list[Pair]:
    """The pairs of ended audits, item by item in the order of criteria.

    The first answer is the latest that another person gave on the same content: of the same revision, or with the same
    hashes of every section that the criterion depends on. A double audit without one is no pair.
    """
    results: dict[int, dict[tuple[str, bool], BlindResult]] = defaultdict(dict)
    for result in BlindResult.objects.filter(audit__in=audits).select_related("by").order_by("pk"):
        results[result.audit_id][result.criterion, result.adjudicates] = result
    firsts: dict[int, list[CriterionResult]] = defaultdict(list)
    rows = CriterionResult.objects.filter(item__in=[a.item_id for a in audits]).select_related("auditor")
    for row in rows.order_by("-pk"):
        firsts[row.item_id].append(row)
    hashes = _section_hashes(audits, firsts)
    pairs = []
    for audit in audits:
        for criterion in BLIND:
            second = results[audit.pk].get((criterion.code, False))
            if second is None:
                continue
            first = next((r for r in firsts[audit.item_id] if _is_first(r, audit, criterion, hashes)), None)
            if first is None and audit.kind == Kind.DOUBLE:
                continue
            pairs.append(Pair(audit, criterion.code, first, second, results[audit.pk].get((criterion.code, True))))
    return pairs


def _section_hashes(
    audits: Sequence[BlindAudit], firsts: dict[int, list[CriterionResult]]
) -> dict[int, dict[str, str]]:
    """Section hashes of each revision that was audited blind; read where an answer on it says them, else computed."""
    wanted = {audit.revision_id for audit in audits}
    known = {row.revision_id: row.section_hashes for rows in firsts.values() for row in rows}
    found = {pk: known[pk] for pk in wanted if pk in known}
    rest = Revision.objects.filter(pk__in=wanted - found.keys()).values_list("pk", "document")
    return found | {pk: read_document(document).section_hashes for pk, document in rest.iterator(50)}


def _is_first(row: CriterionResult, audit: BlindAudit, criterion: Criterion, hashes: dict[int, dict[str, str]]) -> bool:
    same = row.criterion == criterion.code and row.auditor_id != audit.auditor_id
    return same and is_fresh(criterion, row.section_hashes, hashes[audit.revision_id])


def disagreements(benchmark: Benchmark) -> list[Pair]:
    """Pairs of ended audits of both kinds in which the two say differently, those without a third word first."""
    every = [pair for kind in Kind for pair in pairs_of(ended_audits(benchmark, kind))]
    return sorted((pair for pair in every if not pair.agrees), key=lambda pair: pair.third is not None)


def ended_audits(benchmark: Benchmark, kind: str) -> list[BlindAudit]:
    rows = BlindAudit.objects.filter(benchmark=benchmark, kind=kind, ended__isnull=False)
    return list(rows.select_related("item", "auditor").defer("item__document", "item__findings").order_by("pk"))


# --- figures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Agreement on one criterion, or on all ("")."""

    criterion: str
    found: Agreement
    first_passed: int
    adjudicated_passed: int
    undecided: int  # disagreements without a third person's word


def agreement_rows(pairs: Sequence[Pair]) -> list[AgreementRow]:
    """One row for all criteria, then one for each that has a pair; none without pairs."""
    found = []
    for code in ["", *(c.code for c in BLIND)]:
        chosen = [pair for pair in pairs if code in ("", pair.criterion)]
        if not chosen:
            continue
        cells = defaultdict(list)
        for pair in chosen:
            cells[pair.audit.pk].append((pair.first_passed, pair.second.passed))
        words = Counter(pair.passed for pair in chosen)
        firsts = sum(pair.first_passed for pair in chosen)
        found.append(AgreementRow(code, agreement(list(cells.values()), seed=SEED), firsts, words[True], words[None]))
    return found


@dataclass(frozen=True, slots=True)
class Residual:
    """What re-verifying a sample of locked items found. An item fails when at least one criterion does."""

    sample: str
    population: int
    drawn: int
    verified: int
    failed: int
    rate: Estimate
    adjudicated_failed: int
    undecided: int  # items that fail or not by a third person's word alone, which is open
    adjudicated: Estimate  # undefined while a word is open


def residual_of(benchmark: Benchmark) -> Residual | None:
    """Of the latest sample in which an item was verified; None when there is none."""
    last = BlindAudit.objects.filter(benchmark=benchmark, kind=Kind.RESIDUAL, ended__isnull=False).order_by("-created")
    latest = last.first()
    if latest is None:
        return None
    drawn = BlindAudit.objects.filter(benchmark=benchmark, kind=Kind.RESIDUAL, sample=latest.sample)
    ended = [audit for audit in ended_audits(benchmark, Kind.RESIDUAL) if audit.sample == latest.sample]
    words: dict[int, list[Pair]] = defaultdict(list)
    for pair in pairs_of(ended):
        words[pair.audit.pk].append(pair)
    failed = sum(any(not pair.second.passed for pair in pairs) for pairs in words.values())
    final = [_fails([pair.passed for pair in pairs]) for pairs in words.values()]
    n, population = len(ended), population_of(latest.sample)
    open_ones = final.count(None)
    decided = final.count(True)
    return Residual(
        sample=latest.sample,
        population=population,
        drawn=drawn.count(),
        verified=n,
        failed=failed,
        rate=Estimate(failed / n, *wilson(failed, n, population)),
        adjudicated_failed=decided,
        undecided=open_ones,
        adjudicated=Estimate(None) if open_ones else Estimate(decided / n, *wilson(decided, n, population)),
    )


def _fails(words: Iterable[bool | None]) -> bool | None:
    """Whether an item fails by the adjudicated words of its criteria; None while that hangs on an open one."""
    said = set(words)
    return True if False in said else None if None in said else False


def sample_name(day: str, seed: int, size: int, population: int) -> str:
    """Names a draw by all that is needed to make it again: "2026-12-03, seed 7, 20 of 431"."""
    return f"{day}, seed {seed}, {size} of {population}"


def population_of(sample: str) -> int:
    return int(sample.rpartition(" ")[2])


def quality_of(benchmark: Benchmark) -> dict[str, Any]:
    """Agreement and residual error as plain JSON, for a release to keep; {} when nothing was measured."""
    rows = agreement_rows(pairs_of(ended_audits(benchmark, Kind.DOUBLE)))
    residual = residual_of(benchmark)
    found: dict[str, Any] = {}
    if rows:
        found["agreement"] = {
            "items": rows[0].found.items,
            "seed": SEED,
            "resamples": RESAMPLES,
            "rows": [_row_json(row) for row in rows],
        }
    if residual:
        found["residual"] = {
            "sample": residual.sample,
            "population": residual.population,
            "drawn": residual.drawn,
            "verified": residual.verified,
            "failed": residual.failed,
            "rate": _estimate_json(residual.rate),
            "adjudicated_failed": residual.adjudicated_failed,
            "undecided": residual.undecided,
            "adjudicated": _estimate_json(residual.adjudicated),
        }
    return found


def _row_json(row: AgreementRow) -> dict[str, Any]:
    return {
        "criterion": row.criterion,
        "title": CRITERIA[row.criterion].title if row.criterion else "",
        "n": row.found.n,
        "disagreements": row.found.disagreements,
        "raw": _estimate_json(row.found.raw),
        "kappa": _estimate_json(row.found.kappa),
        "ac1": _estimate_json(row.found.ac1),
        "left_out": row.found.left_out,
        "first_passed": row.first_passed,
        "adjudicated_passed": row.adjudicated_passed,
        "undecided": row.undecided,
    }


def _estimate_json(found: Estimate) -> dict[str, float | None]:
    ends = {"value": found.value, "low": found.low, "high": found.high}
    return {name: None if value is None else round(value, 6) for name, value in ends.items()}
