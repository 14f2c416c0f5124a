"""Template tags of analyses: one cell of a table, what a picture is drawn from, and the navigation."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from evaluation.analyses.exports import interval_of, shown
from evaluation.analyses.tables import Column, Table

register = template.Library()


@register.simple_tag
def cell(row: Mapping[str, Any], column: Column, linked: bool = True) -> SafeString:
    """A value in words with its interval; undefined is a dash that is read out as such."""
    value = row[column.key]
    if column.kind == "action":
        return (
            format_html('<a class="btn btn-sm" href="{}">{}</a>', row[column.link], value) if value else SafeString("")
        )
    if value is None or value == "":
        return format_html('<span aria-hidden="true">–</span><span class="wb-sr">{}</span>', _("undefined"))
    text = shown(value, column.kind)
    if column.kind == "flag":
        text = _("yes") if value else _("no")
    if linked and column.link and row.get(column.link):
        return format_html('<a class="wb-u" href="{}">{}</a>', row[column.link], text)
    interval = interval_of(row, column)
    return (
        format_html('{} <span class="wb-3c wb-nw">{}</span>', text, interval) if interval else format_html("{}", text)
    )


@register.simple_tag
def sort_value(row: Mapping[str, Any], column: Column) -> Any:
    """What a column is sorted by: the value as it is, empty where undefined."""
    value = row[column.key]
    return "" if value is None else int(value) if isinstance(value, bool) else value


@register.filter
def is_text(column: Column) -> bool:
    return column.kind in ("text", "flag", "action")


@register.simple_tag
def columns_of(table: Table, linked: bool = True) -> tuple[Column, ...]:
    """Those that a page shows: without links, nothing that is to be done."""
    return table.columns if linked else table.figures


@register.filter
def picture_data(table: Table) -> dict[str, Any]:
    """What the picture of a table is drawn from: the table itself."""
    keys = [key for c in table.figures for key in (c.key, c.low, c.high) if key]
    return {
        "title": table.title,
        "picture": {name: getattr(table.picture, name) for name in ("shape", "x", "y", "series", "stacked")},
        "columns": [
            {"key": c.key, "label": c.label, "kind": c.kind, "low": c.low, "high": c.high} for c in table.figures
        ],
        "rows": [{key: row[key] for key in keys} for row in table.rows],
    }
