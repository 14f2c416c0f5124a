"""What both sides changed, as a choice beside the merged form: mine, theirs, or what one writes there."""

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.diff import Conflict

from .sections import ROW_FIELDS, FormRow, SectionForm


@dataclass(frozen=True)
class ClashChoice:
    """control: the name of the form's control that holds it; "" where the form has none (an order, `extra`).

    mine, theirs: what the control says for each side. removal: who removed the element, "mine" or "theirs"; the
    control is the one that removes it then.
    """

    clash: Conflict
    control: str = ""
    mine: str = ""
    theirs: str = ""
    removal: str = ""


def clash_choices(clashes: Iterable[Conflict], merged: SectionForm, theirs: SectionForm) -> list[ClashChoice]:
    return [_choice(clash, merged, theirs) for clash in clashes]


def _choice(clash: Conflict, merged: SectionForm, theirs: SectionForm) -> ClashChoice:
    name, *rest = clash.path.split(".")
    if clash.field == "order":
        return ClashChoice(clash)
    if not clash.where:
        if name not in merged.values:
            return ClashChoice(clash)
        return ClashChoice(clash, name, str(merged.values[name]), str(theirs.values[name]))
    row = _row(merged, name, clash.where[0][1])
    if row is None:
        return ClashChoice(clash)
    if not clash.field:
        removal = "mine" if clash.mine is None else "theirs"
        return ClashChoice(clash, f"{name}-{row.index}-remove", removal=removal)
    other = _row(theirs, name, clash.where[0][1])
    part = next((part for part in rest[1:] if part in ROW_FIELDS[name]), "")
    if not part or other is None:
        return ClashChoice(clash)
    return ClashChoice(clash, f"{name}-{row.index}-{part}", row.values.get(part, ""), other.values.get(part, ""))


def _row(form: SectionForm, name: str, label: str) -> FormRow | None:
    """The row of an element by its key; of a rival by its number."""
    for row in form.rows.get(name, []):
        if (str(row.number) if name == "rivals" else row.key) == label:
            return row
    return None
