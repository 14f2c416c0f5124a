"""Properties of a node as rows inside its row: fields `nodes-<n>-prop-<m>-<field>`, and lines for those who paste."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

FIELDS: Final = ("name", "value", "modality", "sources")
_FIELD = re.compile(r"prop-([a-z0-9]{1,12})-([a-z]+)")


def split_keys(text: str) -> list[str]:
    """Keys or numbers separated by commas, semicolons, spaces or their East Asian forms."""
    return [part for part in re.split(r"[\s,;，；、]+", text) if part]


def property_fields(properties: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The fields of a node's properties, as its form row holds them."""
    return {
        f"prop-{number}-{name}": ", ".join(prop[name]) if name == "sources" else prop[name] or ""
        for number, prop in enumerate(properties, 1)
        for name in FIELDS
    }


def property_rows(row: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Index -> fields of each property that says something, in the order of the form."""
    rows: dict[str, dict[str, str]] = {}
    for field, text in row.items():
        if match := _FIELD.fullmatch(field):
            rows.setdefault(match[1], {})[match[2]] = text
    return {index: each for index, each in rows.items() if any(each.get(name, "").strip() for name in FIELDS)}


def read_properties(
    row: Mapping[str, str], path: str, old: Sequence[Mapping[str, Any]], problems: list[dict[str, str]]
) -> list[dict[str, Any]]:
    """The properties of a node's row, those of its lines last. What the form does not show is kept by name."""
    kept = {p["name"]: p for p in old}
    result = []
    for each in (*property_rows(row).values(), *_lines(row.get("properties", ""), path, problems)):
        name = each.get("name", "")
        result.append(
            {**kept.get(name, {}), "name": name, "value": each.get("value", ""),
             "modality": each.get("modality") or None, "sources": split_keys(each.get("sources", ""))}
        )  # fmt: skip
    return result


def _lines(text: str, path: str, problems: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Pasted lines, each `name | value | modality | sources`."""
    for line in text.splitlines():
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) > len(FIELDS):
            message = _("“%(line)s” has more than four parts; write: name | value | modality | sources.")
            problems.append({"path": path, "message": message % {"line": line.strip()[:60]}})
        yield dict(zip(FIELDS, parts, strict=False))
