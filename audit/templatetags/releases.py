"""Words for figures of releases."""

from collections.abc import Mapping

from django import template

from audit.figures import percent

register = template.Library()


@register.filter
def percent_of(part: int, whole: int) -> str:
    """A part of a whole, in numbers and percent; a dash of nothing."""
    share = percent(part or 0, whole or 0)
    return "–" if share is None else f"{part or 0} ({share}%)"


@register.filter
def share(value: float | None) -> str:
    """A fraction in percent, to one place; a dash where it is not defined."""
    return "–" if value is None else f"{100 * value:.1f}%"


@register.filter
def coefficient(estimate: Mapping[str, float | None]) -> str:
    """A coefficient with its interval; a dash where it is not defined."""
    value, low, high = (estimate[name] for name in ("value", "low", "high"))
    if value is None:
        return "–"
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} – {high:.2f})"
