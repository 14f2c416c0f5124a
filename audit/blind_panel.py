"""What a second auditor sees of an item: its evidence and the criteria, and nothing that the first audit said.

Reads only. The panel is the audit page's, of the revision that is audited, with no answer, tick, gate or move in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from annotation.document import read_document
from lhdr_site.shared.errors import Conflict, NotAllowed
from lhdr_site.shared.results import Denied

from .models import BlindAudit, BlindResult, Probe
from .panel import EVIDENCE, Panel
from .permissions import may_audit_blind, standing_of
from .second_queries import blind_results, get_blind_audit
from .workflow import OPTIONAL_IN_SANDBOX, PHASES, Criterion


@dataclass(frozen=True, slots=True)
class BlindRow:
    """One criterion with the second auditor's own answer."""

    number: int
    criterion: Criterion
    title: str
    help: str
    result: BlindResult | None
    optional: bool
    evidence: str

    @property
    def is_open(self) -> bool:
        return self.result is None


@dataclass
class BlindPanel(Panel):
    """A Panel whose every source of first answers is empty."""

    audit: BlindAudit | None = None
    own: Mapping[str, BlindResult] | None = None

    @cached_property
    def changed(self) -> None:
        return None

    @cached_property
    def points(self) -> None:
        return None

    @cached_property
    def candidates(self) -> list[Any]:
        return []

    @cached_property
    def may_judge(self) -> Denied:
        return Denied(_("A second audit feeds no gate."))

    @cached_property
    def probes(self) -> list[Probe]:
        """What systems answered; what people made of it is not for the second auditor."""
        rows = Probe.objects.filter(item=self.item, status=Probe.Status.COMPLETED)
        return list(rows.only("system_name", "with_image", "text"))

    @cached_property
    def phases_to_answer(self) -> list[tuple[int, str, list[BlindRow]]]:
        """(number, title, rows) of phases 2 to 4."""
        found = []
        for phase in PHASES[1:]:
            rows = [self._row(number, criterion) for number, criterion in enumerate(phase.criteria, 1)]
            found.append((phase.number, _(phase.title), rows))
        return found

    def _row(self, number: int, criterion: Criterion) -> BlindRow:
        return BlindRow(
            number=number,
            criterion=criterion,
            title=_(criterion.title),
            help=_(criterion.help),
            result=(self.own or {}).get(criterion.code),
            optional=self.sandbox and criterion.code in OPTIONAL_IN_SANDBOX,
            evidence=EVIDENCE[criterion.code],
        )

    @cached_property
    def all_rows(self) -> list[BlindRow]:
        return [row for _number, _title, rows in self.phases_to_answer for row in rows]

    @property
    def waits(self) -> list[BlindRow]:
        """What must still be answered."""
        return [row for row in self.all_rows if row.is_open and not row.optional]

    @property
    def done(self) -> int:
        return sum(not row.is_open for row in self.all_rows)


def own_blind_audit(user: Any, benchmark: Benchmark, pk: int) -> BlindAudit:
    """For its auditor alone: others would see what they must not, or show that they had. Raises like an action."""
    audit = get_blind_audit(benchmark, pk)
    may_audit_blind(user, audit).require()
    if audit.auditor_id is None:
        raise Conflict(_("Take this audit first, on the list of second audits."), code="not_taken")
    if audit.auditor_id != user.pk:
        raise NotAllowed(_("Only who audits it sees this page."))
    return audit


def blind_panel_of(audit: BlindAudit, user: Any) -> BlindPanel:
    item, revision = audit.item, audit.revision
    item.document, item.document_hash = revision.document, revision.document_hash
    item.revision_number, item.gates = revision.number, {}
    return BlindPanel(
        item=item,
        user=user,
        standing=standing_of(user, item),
        document=read_document(revision.document),
        phase=PHASES[1],
        results={},
        ticks={},
        history=[],
        reviewers=[],
        audit=audit,
        own=blind_results(audit),
    )
