"""Words that all apps share: item states, roles, gates and their freshness. PURE: imports no Django."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any, Final


class State(StrEnum):
    DRAFT = "draft"
    SUBMITTED = "submitted"
    SECONDARY_AUDIT = "secondary_audit"
    MULTIMODAL_AUDIT = "multimodal_audit"
    FACTUAL_AUDIT = "factual_audit"
    APPROVED = "approved"
    LOCKED = "locked"
    RETURNED = "returned"
    REJECTED = "rejected"


EDITABLE_BY_AUTHORS: Final = frozenset({State.DRAFT, State.RETURNED})
IN_AUDIT: Final = frozenset({State.SUBMITTED, State.SECONDARY_AUDIT, State.MULTIMODAL_AUDIT, State.FACTUAL_AUDIT})


class Role(IntEnum):
    """Each includes those before it."""

    ANNOTATOR = 1
    AUDITOR = 2
    CORE = 3
    ADMIN = 4


class Gate(StrEnum):
    """The seven gates, in the order in which they are always shown."""

    UNIQUENESS = "uniqueness"
    LEAKAGE = "leakage"
    IRREDUCIBILITY = "irreducibility"
    SOURCE_SUPPORT = "source_support"
    MULTIMODAL = "multimodal"
    SHORTCUT = "shortcut"
    METADATA = "metadata"


class GateStatus(StrEnum):
    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"


# An edit of one of these sections makes the gate stale.
GATE_SECTIONS: Final[dict[Gate, tuple[str, ...]]] = {
    Gate.UNIQUENESS: ("question", "graph", "checklist", "sources"),
    Gate.LEAKAGE: ("question", "graph"),
    Gate.IRREDUCIBILITY: ("graph", "checklist"),
    Gate.SOURCE_SUPPORT: ("question", "graph", "checklist", "sources"),
    Gate.MULTIMODAL: ("images", "checklist", "sources"),
    Gate.SHORTCUT: ("question", "images"),
    Gate.METADATA: ("metadata", "images", "sources"),
}


def gate_status(entry: Mapping[str, Any] | None, gate: Gate, section_hashes: Mapping[str, str]) -> GateStatus:
    """What a gate shows, from the summary that audit recorded on the item and the item's present section hashes.

    entry: {"status": "passed" | "failed", "hashes": {section: hash when it was judged}, …}, or None when nothing was
    recorded. Passed and failed become stale when a section the gate depends on has changed since.
    """
    if not entry or entry.get("status") not in (GateStatus.PASSED, GateStatus.FAILED):
        return GateStatus.OPEN
    judged = entry.get("hashes", {})
    if any(judged.get(section) != section_hashes.get(section) for section in GATE_SECTIONS[gate]):
        return GateStatus.STALE
    return GateStatus(entry["status"])


def gate_counts(gates: Mapping[str, Any], section_hashes: Mapping[str, str]) -> dict[GateStatus, int]:
    """How many of the seven gates have each status; every status is a key."""
    counts = dict.fromkeys(GateStatus, 0)
    for gate in Gate:
        counts[gate_status(gates.get(gate), gate, section_hashes)] += 1
    return counts
