"""The columns that a list of items can show: their names, how they sort, and their plain values for a spreadsheet."""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from .gates import gate_statuses
from .models import Item, Preferences

Value = str | int | dt.date | None


def _checked(item: Item, count: int) -> int | None:
    return count if item.checked_hash == item.document_hash else None


def _name(person: Any) -> str:
    return person.get_username() if person is not None else ""


@dataclass(frozen=True)
class Column:
    """`short` is what the head shows where the label is too long; `sort` a name of `listing.SORTS`."""

    code: str
    label: str | Promise
    value: Callable[[Item], Value]
    short: str | Promise = ""
    sort: str = ""
    numeric: bool = False


_ALL = (
    Column("findings", _("Findings"), lambda i: _checked(i, i.errors + i.warnings)),
    Column("number", _("Number"), lambda i: i.number, "#", "number", True),
    Column("question", _("Question"), lambda i: i.question),
    Column("answer", _("Answer"), lambda i: i.answer),
    Column("state", _("State"), lambda i: i.state),
    Column("gates", _("Gates"), lambda i: " ".join(f"{gate}:{status}" for gate, status in gate_statuses(i).items())),
    Column("category", _("Category, template"), lambda i: i.category),
    Column("template", _("Template"), lambda i: i.template),
    Column("steps", _("Steps"), lambda i: i.steps, "", "steps", True),
    Column("depth", _("Depth"), lambda i: i.depth, "", "depth", True),
    Column("nodes", _("Nodes"), lambda i: i.nodes, "", "", True),
    Column("sources", _("Sources"), lambda i: i.sources, _("Src"), "", True),
    Column("images", _("Images"), lambda i: i.images, _("Img"), "", True),
    Column("comments", _("Open comments"), lambda i: i.open_comments, "", "comments"),
    Column("errors", _("Errors"), lambda i: _checked(i, i.errors), "", "errors", True),
    Column("warnings", _("Warnings"), lambda i: _checked(i, i.warnings), "", "", True),
    Column("author", _("Author"), lambda i: _name(i.author)),
    Column("auditor", _("Auditor"), lambda i: _name(i.auditor)),
    Column("due", _("Due"), lambda i: i.due, "", "due", True),
    Column("language", _("Language"), lambda i: i.language),
    Column("revision", _("Revision"), lambda i: i.revision_number, _("Rev."), "", True),
    Column("golden", _("Golden example"), lambda i: "yes" if i.is_golden else "", _("Golden")),
    Column("created", _("Created"), lambda i: i.created, "", "created", True),
    Column("updated", _("Updated"), lambda i: i.updated, "", "updated", True),
)
COLUMNS = {column.code: column for column in _ALL}
FIXED = ("number", "question")  # without them a row names nothing
DEFAULT = (
    *("findings", "number", "question", "state", "gates", "category", "steps", "depth", "sources", "images"),
    *("comments", "author", "updated"),
)


def chosen(*choices: Iterable[Any]) -> list[Column]:
    """The columns of the first choice that names any, each once; ours without one. Unknown names are passed over."""
    for choice in (*choices, DEFAULT):
        codes = list(dict.fromkeys(code for code in choice if isinstance(code, str) and code in COLUMNS))
        if codes:
            return [COLUMNS[code] for code in [*(f for f in FIXED if f not in codes), *codes]]
    raise AssertionError("DEFAULT names columns")


def columns_of(user: Any) -> list[str]:
    """The columns that a person chose; none for ours."""
    codes = Preferences.objects.filter(user=user).values_list("columns", flat=True).first()
    return codes if isinstance(codes, list) else []
