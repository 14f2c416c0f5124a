"""What the audit page shows of who has the item and which rules were set aside for it. Reads only."""

from functools import cached_property
from typing import Any

from django.utils import timezone

from annotation.benchmarks import Item, Role

from .models import Override, ReviewClaim
from .overrides import overrides_of
from .permissions import may_override
from .text import rule_name
from .workflow import Rule


class Duty:
    """A part of the panel; it needs the item and the person."""

    item: Item
    user: Any

    @cached_property
    def claim(self) -> ReviewClaim | None:
        """Who has it from the queue now."""
        live = ReviewClaim.objects.filter(item=self.item, expires__gt=timezone.now())
        return live.select_related("auditor").first()

    @cached_property
    def overrides(self) -> list[Override]:
        return overrides_of(self.item)

    @cached_property
    def may_override(self) -> Any:
        return may_override(self.user, self.item)

    @property
    def rules(self) -> list[tuple[str, str]]:
        return [(rule.value, rule_name(rule)) for rule in Rule]

    @property
    def auditors(self) -> list[Any]:
        """Members who judge items."""
        rows = self.item.benchmark.memberships.select_related("user").filter(role__gte=Role.AUDITOR)
        return [row.user for row in rows.filter(user__is_active=True).order_by("user__username")]
