"""Shortcut probes and gradeability checks: the face of this app for evaluation, which asks the systems and judges."""

from django.http import Http404

from annotation.benchmarks import Item
from annotation.document import Document, read_document
from annotation.models import Revision

from .models import AuditPlan, GradeCheck, Probe
from .permissions import require_not_blind
from .plans import plan_of
from .probe_actions import (
    MOST_AT_ONCE,
    JudgeAsked,
    SystemAsked,
    add_grade_check,
    add_probes,
    ask_grade_check_again,
    ask_probe_again,
    cancel_probe,
    judge_probe,
    paste_probe,
)
from .probe_queries import (
    author_probes_left,
    condition_name,
    grade_check_rows,
    grade_checks_of,
    lock_condition,
    may_cancel_probe,
    may_give_word,
    may_probe,
    probe_gaps,
    probe_rows,
    probes_of,
)

__all__ = [
    "MOST_AT_ONCE",
    "AuditPlan",
    "GradeCheck",
    "JudgeAsked",
    "Probe",
    "SystemAsked",
    "add_grade_check",
    "add_probes",
    "ask_grade_check_again",
    "ask_probe_again",
    "author_probes_left",
    "cancel_probe",
    "condition_name",
    "get_grade_check",
    "get_probe",
    "grade_check_rows",
    "grade_checks_of",
    "judge_probe",
    "lock_condition",
    "may_cancel_probe",
    "may_give_word",
    "may_probe",
    "paste_probe",
    "plan_of",
    "probe_gaps",
    "probe_rows",
    "probe_subject",
    "probes_of",
    "require_not_blind",
]


def probe_subject(row: Probe | GradeCheck) -> Document:
    """The document as it was when the probe or check was asked for."""
    return read_document(Revision.objects.values_list("document", flat=True).get(pk=row.revision_id))


def get_probe(item: Item, pk: int) -> Probe:
    """A probe of an item. Raises Http404."""
    found = next((probe for probe in probes_of(item) if probe.pk == pk), None)
    if found is None:
        raise Http404
    return found


def get_grade_check(item: Item, pk: int) -> GradeCheck:
    """A check of an item. Raises Http404."""
    found = next((check for check in grade_checks_of(item) if check.pk == pk), None)
    if found is None:
        raise Http404
    return found
