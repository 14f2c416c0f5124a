"""Quality checks: one small class each in one registry. `run_checks(CheckContext(document))` gives the findings.

PURE: imports no Django. `docs/checks.md` is written from the registry.
"""

# These modules register their checks; the order is that of findings of equal section and severity.
from annotation.checks import completeness, images, leakage, sources, structure, wording  # noqa: F401
from annotation.checks.base import (
    LEVELS,
    Check,
    CheckContext,
    Finding,
    Level,
    Thresholds,
    register,
    registry,
    run_checks,
)

__all__ = [
    "LEVELS",
    "Check",
    "CheckContext",
    "Finding",
    "Level",
    "Thresholds",
    "register",
    "registry",
    "run_checks",
]
