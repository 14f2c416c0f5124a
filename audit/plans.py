"""How a benchmark audits: its AuditPlan, read by everybody through `plan_of`, and what a plan may hold."""

from typing import Final

from annotation.benchmarks import Benchmark

from .models import AuditPlan

#: The least and the most that each number of a plan may be.
LIMITS: Final[dict[str, tuple[int, int]]] = {
    "pilot_items": (1, 50),
    "pilot_raters": (1, 2),
    "probes_with_image": (0, 20),
    "probes_without_image": (0, 20),
    "author_probes": (0, 50),
    "claim_minutes": (5, 10_080),
    "stuck_days": (1, 365),
    "recheck_days": (1, 3_650),
    "double_audit_percent": (0, 100),
}


def plan_of(benchmark: Benchmark) -> AuditPlan:
    """The benchmark's plan, or an unsaved one with the defaults of its preset where nobody set one."""
    plan = AuditPlan.objects.filter(benchmark=benchmark).first()
    if plan is None:
        plan = AuditPlan(benchmark=benchmark)
        if benchmark.is_sandbox:
            plan.gradeability = AuditPlan.Gradeability.OFF
    return plan
