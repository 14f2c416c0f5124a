"""What locking an item asks for, as one list: the page shows it, the action refuses by it. Reads only."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.benchmarks import Item
from annotation.states import Gate, GateStatus

from .probe_queries import lock_condition, probe_gaps
from .queries import open_candidates
from .return_queries import not_accepted
from .text import gate_title
from .workflow import gates_in_the_way


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing locking asks for. `path` names it for programs, `href` leads to where it is seen to."""

    code: str
    path: str
    text: str
    met: bool
    href: str


def lock_conditions(item: Item) -> list[Condition]:
    """All of them, met and unmet, in a fixed order; errors only of checks that ran on the present document."""
    words = {
        GateStatus.OPEN: _("not judged yet"),
        GateStatus.FAILED: _("failed"),
        GateStatus.STALE: _("stale, judged for other content"),
    }
    missing = dict(gates_in_the_way(item.gates, item.section_hashes, sandbox=item.benchmark.is_sandbox))
    found = [
        Condition(
            "gates_not_passed",
            gate.value,
            f"{gate_title(gate)}: {words[missing[gate]] if gate in missing else _('passed')}",
            gate not in missing,
            "#stale" if missing.get(gate) is GateStatus.STALE else "#audit-gates",
        )
        for gate in Gate
    ]
    count = item.blocking_comments
    text = ngettext("%(n)d blocking comment is open", "%(n)d blocking comments are open", count) % {"n": count}
    found.append(
        Condition("blocking_comments", "comments", text if count else _("No blocking comment"), not count, "#talk")
    )
    answers = open_candidates(item)
    text = _("Candidate answers that nothing rules out: %(answers)s") % {"answers": "; ".join(answers)}
    found.append(
        Condition(
            "candidates_open",
            "candidates",
            text if answers else _("No candidate answer is open"),
            not answers,
            "#candidates",
        )
    )
    count = len(not_accepted(item))
    text = ngettext(
        "%(n)d answer to a point of the return is not accepted",
        "%(n)d answers to points of the return are not accepted",
        count,
    )
    done = _("Every point of the last return is settled")
    found.append(Condition("points_open", "points", text % {"n": count} if count else done, not count, "#points"))
    gaps = [] if item.benchmark.is_sandbox else probe_gaps(item)
    text = " ".join(gaps) or _("The shortcut probes keep nothing back")
    found.append(Condition("probes_missing", "probes", text, not gaps, "#probes"))
    sentence, required = lock_condition(item)
    text = sentence or _("Gradeability keeps nothing back")
    found.append(Condition("not_gradeable", "gradeability", text, not required, "#gradeability"))
    errors = item.errors if item.checked_hash == item.document_hash else 0
    text = ngettext("%(n)d error found by the checks", "%(n)d errors found by the checks", errors) % {"n": errors}
    done = _("No error found by the checks")
    found.append(Condition("errors_found", "checks", text if errors else done, not errors, "#findings"))
    return found
