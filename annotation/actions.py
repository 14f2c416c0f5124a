"""Every write to an item: one function, one transaction, one event. It locks, asks, checks, writes, records.

Benchmarks are written in `benchmark_actions`, comments in `comment_actions`, files imported in `importing`. Raises
NotAllowed (403), SectionConflict (409) and Invalid (422) with nothing written.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid

from . import graph, index, tasks
from .candidates import Strike, read_strikes, strike_steps
from .document import (
    PICTURES,
    Document,
    DocumentError,
    Link,
    dangling_links,
    elements,
    empty_document,
    read_document,
    unlink,
)
from .models import (
    Benchmark,
    Dismissal,
    Item,
    ItemEvent,
    ItemWriter,
    Membership,
    Preferences,
    Revision,
    SaveKey,
    StruckStep,
)
from .permissions import may_change_coeditors, may_create_item, may_edit_item
from .states import EDITABLE_BY_AUTHORS, State

_STORED_FILE = re.compile(r"images/[0-9a-f]{64}\.[a-z0-9]{1,5}")


class SectionConflict(Conflict):
    """Somebody changed the section since the base hash. Carries their text and the caller's."""

    code = "section_conflict"


# --- items --------------------------------------------------------------------------------------------------------


@transaction.atomic
def create_item(
    benchmark: Benchmark, *, actor: User, document: Document | None = None, message: str = "", category: str = ""
) -> Item:
    """A new draft of one's own, empty (perhaps of a category) or with a given document."""
    may_create_item(actor, benchmark).require()
    if document is None:
        document = replace(
            empty_document(str(uuid4()), benchmark.language), canary=benchmark.canary, category=category or None
        )
    refuse_broken(document)
    return insert_items(benchmark, [document], author=actor, kind=Revision.Kind.CREATE, message=message)[0]


def insert_items(
    benchmark: Benchmark, documents: Sequence[Document], *, author: User, kind: str, message: str = ""
) -> list[Item]:
    """Rows for new documents, in bulk, with one revision each. Inside the caller's transaction and permission."""
    locked = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    first = locked.last_number + 1
    Benchmark.objects.filter(pk=locked.pk).update(last_number=locked.last_number + len(documents))
    derived = [index.derive(document) for document in documents]
    items = [
        Item(benchmark=benchmark, number=first + n, author=author, revision_number=1, **d.columns)
        for n, d in enumerate(derived)
    ]
    if len(items) == 1:
        items[0].save(force_insert=True)
    else:
        items = Item.objects.bulk_create(items, batch_size=500)
    Revision.objects.bulk_create(
        (
            Revision(
                item=item,
                number=1,
                kind=kind,
                author=author,
                message=message,
                document_hash=item.document_hash,
                document=item.document,
            )
            for item in items
        ),
        batch_size=500,
    )
    ItemWriter.objects.bulk_create((ItemWriter(item=item, user=author) for item in items), batch_size=1000)
    index.create_rows(list(zip(items, derived, strict=True)))
    name = "item.imported" if kind == Revision.Kind.IMPORT else "item.created"
    ItemEvent.objects.bulk_create(
        (ItemEvent(benchmark=benchmark, item=item, actor=author, kind=name, data={"revision": 1}) for item in items),
        batch_size=1000,
    )
    tasks.check_later([item.pk for item in items])
    return items


@transaction.atomic
def save_section(
    item: Item,
    section: str,
    content: Mapping[str, Any],
    base_hash: str,
    *,
    actor: User,
    message: str = "",
    unlink_removed: str = "",
    save_key: str = "",
    struck: Sequence[Mapping[str, Any]] = (),
) -> Item:
    """Replace one section and record a revision; returns the fresh item (as it was, when nothing changed).

    unlink_removed: "" refuses to remove what others refer to; "lose" drops such links; "inherit" also gives the
    dependents of a removed step its prerequisites.
    save_key: an idempotency key; a retry with the same key returns what the first one led to.
    struck: steps to take out of the checklist, each {key, reason, merged_into, note}; `content` may still hold them.
    Their dependents go on as `candidates.strike_steps` says, and a StruckStep is kept of each.
    Raises SectionConflict when the section is no longer the one with `base_hash`.
    """
    if unlink_removed not in ("", "lose", "inherit"):
        raise Invalid(_("unlink_removed must be “lose”, “inherit” or empty."), code="bad_unlink")
    if struck and section != "checklist":
        raise Invalid.at("struck", _("Only steps of the checklist can be struck."), code="bad_strike")
    if len(save_key) > 64:
        raise Invalid(_("The save key must have at most 64 characters."), code="bad_save_key")
    item = locked_item(item)
    may_edit_item(actor, item).require()
    if save_key and SaveKey.objects.filter(item=item, key=save_key).exists():
        return item
    current = read_document(item.document)
    try:
        strikes = read_strikes(struck)
        changed = current.with_section(section, content)
    except DocumentError as error:
        raise invalid_document(error) from error
    if item.section_hashes.get(section) != base_hash:
        if changed.section_hashes[section] == item.section_hashes[section] and not strikes:
            return item  # both wrote the same
        raise SectionConflict(
            _("Somebody changed this section since you opened it. Compare, then keep yours, take theirs, or merge."),
            section=section,
            hash=item.section_hashes[section],
            theirs=current.section(section),
            yours=changed.section(section),
        )
    rows: list[StruckStep] = []
    if strikes:
        changed, rows = _strike(current, changed, strikes)
    if unlink_removed:
        changed = drop_lost_links(current, changed, inherit=unlink_removed == "inherit")
    refuse_broken(changed, before=current)
    if changed.hash == item.document_hash and not rows:
        return item
    data = {"struck": [row.key for row in rows]} if rows else {}
    if changed.hash == item.document_hash:  # struck before they were ever saved
        record_event(item, actor, "step.struck", **data)
    else:
        kind = Revision.Kind.EDIT
        write_document(item, changed, actor=actor, kind=kind, section=section, message=message, data=data)
    for row in rows:
        row.item, row.by, row.revision_number = item, actor, item.revision_number
    StruckStep.objects.bulk_create(rows)
    if save_key:
        SaveKey.objects.create(item=item, key=save_key, revision_number=item.revision_number)
    return item


@transaction.atomic
def restore_revision(item: Item, number: int, base_hash: str, *, actor: User) -> Item:
    """Make an earlier revision's document the present one, as a new revision."""
    item = locked_item(item)
    may_edit_item(actor, item).require()
    if item.document_hash != base_hash:
        raise Conflict(_("The item changed since you opened its history. Look at the newest revision first."))
    revision = item.revisions.filter(number=number).first()
    if revision is None:
        raise Invalid(_("There is no revision %(number)s.") % {"number": number}, code="no_revision")
    document = read_document(revision.document)
    if document.hash == item.document_hash:
        return item
    refuse_broken(document)
    message = _("Restored revision %(number)s") % {"number": number}
    write_document(item, document, actor=actor, kind=Revision.Kind.RESTORE, message=message)
    return item


def write_document(
    item: Item,
    document: Document,
    *,
    actor: User,
    kind: str,
    section: str = "",
    message: str = "",
    data: Mapping[str, Any] | None = None,
) -> Revision:
    """Document, derived columns, index rows, revision and event of a locked row, in the caller's transaction.

    data: what the event says besides. A struck step whose key is in the checklist again counts as taken back.
    """
    derived = index.derive(document)
    changed = [name for name, digest in document.section_hashes.items() if item.section_hashes.get(name) != digest]
    columns = index.apply(item, derived)
    item.revision_number += 1
    item.save(update_fields=[*columns, "revision_number", "updated"])
    index.write_rows(item, derived, changed)
    revision = Revision.objects.create(
        item=item,
        number=item.revision_number,
        kind=kind,
        section=section,
        author=actor,
        message=message[:300],
        document_hash=item.document_hash,
        document=item.document,
    )
    if item.state in EDITABLE_BY_AUTHORS:
        ItemWriter.objects.bulk_create([ItemWriter(item=item, user=actor)], ignore_conflicts=True)
    if "checklist" in changed:
        back = item.struck_steps.filter(restored=None, key__in=list(document.step_positions))
        back.update(restored=revision.created)
    record_event(item, actor, f"item.{_PAST[kind]}", **{"section": section, **(data or {})})
    tasks.check_later([item.pk])
    return revision


_PAST: dict[str, str] = {
    Revision.Kind.CREATE: "created",
    Revision.Kind.EDIT: "edited",
    Revision.Kind.RESTORE: "restored",
    Revision.Kind.IMPORT: "imported",
}


def locked_item(item: Item) -> Item:
    """The row as it is now, locked until the caller's transaction ends."""
    return Item.objects.select_for_update(of=("self",)).select_related("benchmark", "author").get(pk=item.pk)


def record_event(item: Item, actor: User | None, kind: str, /, **data: Any) -> None:
    """Of the item at its present revision; without an actor, the system's."""
    data = {"revision": item.revision_number, **data}
    ItemEvent.objects.create(benchmark_id=item.benchmark_id, item=item, actor=actor, kind=kind, data=data)


def invalid_document(error: DocumentError) -> Invalid:
    return Invalid(str(error), problems=[{"path": p.path, "message": p.message} for p in error.problems])


def _strike(before: Document, after: Document, strikes: Sequence[Strike]) -> tuple[Document, list[StruckStep]]:
    """`after` without the struck steps, and a row of each that still needs its item, person and revision."""
    gone = {strike.key for strike in strikes} - set(after.step_positions)
    whole = replace(after, checklist=(*after.checklist, *(step for step in before.checklist if step.key in gone)))
    try:
        changed = strike_steps(whole, strikes)
    except DocumentError as error:
        raise invalid_document(error) from error
    steps = {step["key"]: step for step in whole.section("checklist")["checklist"]}
    return changed, [
        StruckStep(key=s.key, step=steps[s.key], reason=s.reason, merged_into=s.merged_into, note=s.note)
        for s in strikes
    ]


def drop_lost_links(before: Document, after: Document, *, inherit: bool) -> Document:
    """`after` without links to what it removed from `before`."""
    kept = {element.key for _list, element in elements(after)}
    targets = {element.key for _list, element in elements(before)} - kept
    if not targets:
        return after
    # The removed steps stand in again while links are dropped, so that their prerequisites can be inherited.
    steps = (step for step in before.checklist if step.key in targets)
    whole = replace(after, checklist=(*after.checklist, *steps))
    cleaned = unlink(whole, targets, inherit_prerequisites=inherit)
    lost = targets | ({r.key for r in after.relations} - {r.key for r in cleaned.relations})
    cleaned = unlink(cleaned, lost - targets) if lost != targets else cleaned
    return replace(cleaned, checklist=tuple(step for step in cleaned.checklist if step.key not in targets))


def refuse_broken(document: Document, before: Document | None = None) -> None:
    """Raises Invalid for links that dangle and for cycles, each spelled out; `before` tells what was removed."""
    dangling = dangling_links(document)
    if dangling:
        there = {element.key for _list, element in elements(before)} if before else set()
        removed = sorted({link.target for link in dangling if link.target in there})
        problems = [{"path": link.path, "message": _link_message(link)} for link in dangling]
        if removed:
            text = _("%(keys)s cannot be removed while others refer to it: %(referrers)s.") % {
                "keys": ", ".join(removed),
                "referrers": ", ".join(dict.fromkeys(link.referrer for link in dangling if link.target in removed)),
            }
            raise Invalid(
                text + " " + _("Remove the links too, or keep it."),
                code="still_referred_to",
                problems=problems,
                removed=removed,
                referrers=sorted({link.referrer for link in dangling if link.target in removed}),
                removes_steps=any(before is not None and key in before.step_positions for key in removed),
            )
        raise Invalid("; ".join(p["message"] for p in problems), code="dangling_link", problems=problems)
    # A file name of another form could lead an export out of its folder.
    if strange := [image for image in document.images if image.file and not _STORED_FILE.fullmatch(image.file)]:
        text = _("%(key)s names the file “%(file)s”; upload the picture, or leave the file empty and give its address.")
        problems = [{"path": f"images.{i.key}.file", "message": text % {"key": i.key, "file": i.file}} for i in strange]
        raise Invalid(problems[0]["message"], code="bad_image_file", problems=problems)
    if cycle := graph.cycle_text(document):
        text = _("These steps need each other in a circle: %(cycle)s. Remove one of these prerequisites.")
        raise Invalid(text % {"cycle": cycle}, code="cycle", cycle=cycle)


def _link_message(link: Link) -> str:
    names = {
        "nodes": _("node"),
        "relations": _("relation"),
        "checklist": _("step"),
        "sources": _("source"),
        "images": _("image"),
        PICTURES: _("image or region"),
    }
    return _("%(referrer)s refers to the %(kind)s %(target)s, which does not exist.") % {
        "referrer": link.referrer,
        "kind": names[link.target_list],
        "target": link.target,
    }


# --- for audit: the only ways to change state and gates -----------------------------------------------------------


def move_state(item: Item, to: State) -> None:
    """Set the state of a row that the caller locked, after it wrote the Transition."""
    item.state, item.moved = to.value, timezone.now()
    item.save(update_fields=["state", "moved", "updated"])


def record_gates(item: Item, gates: Mapping[str, Any]) -> None:
    """Set the gate summary of a row that the caller locked."""
    item.gates = dict(gates)
    counts = index.gate_columns(item)
    for name, count in counts.items():
        setattr(item, name, count)
    item.save(update_fields=["gates", *counts, "updated"])


# --- around an item -----------------------------------------------------------------------------------------------


@transaction.atomic
def set_coeditors(item: Item, users: Sequence[User], *, actor: User) -> None:
    """Replace the co-editors; all must be members, and the author is none."""
    item = locked_item(item)
    may_change_coeditors(actor, item).require()
    members = set(Membership.objects.filter(benchmark=item.benchmark).values_list("user_id", flat=True))
    if strangers := [u.get_username() for u in users if u.pk not in members]:
        raise Invalid(_("Not members of this benchmark: %(names)s.") % {"names": ", ".join(strangers)})
    if item.auditor_id in {u.pk for u in users} and not item.benchmark.is_sandbox:
        text = _("%(name)s is to audit this item and cannot co-edit it; choose another auditor first.")
        raise Invalid(text % {"name": item.auditor.get_username()}, code="auditor")  # type: ignore[union-attr]
    item.coeditors.set([u for u in users if u.pk != item.author_id])
    names = [u.get_username() for u in users]
    record_event(item, actor, "item.shared", coeditors=names)


@transaction.atomic
def dismiss_finding(item: Item, subject: str, fingerprint: str, reason: str, *, actor: User) -> None:
    """Set a warning aside with a reason; errors cannot be dismissed."""
    item = locked_item(item)
    may_edit_item(actor, item).require()
    if not reason.strip():
        raise Invalid(_("Say why this warning does not apply."), code="empty_reason")
    found = next((f for f in item.findings if f["subject"] == subject), None)
    if found is None or found["fingerprint"] != fingerprint or item.checked_hash != item.document_hash:
        raise Conflict(_("The checks ran anew meanwhile. Look at the finding again."))
    if found["level"] == "error":
        raise Invalid(_("An error cannot be dismissed; mend it."), code="not_dismissible")
    Dismissal.objects.update_or_create(
        item=item, subject=subject, defaults={"fingerprint": fingerprint, "reason": reason.strip(), "by": actor}
    )
    record_event(item, actor, "finding.dismissed", subject=subject, reason=reason.strip())


@transaction.atomic
def recall_dismissal(item: Item, subject: str, *, actor: User) -> None:
    item = locked_item(item)
    may_edit_item(actor, item).require()
    if Dismissal.objects.filter(item=item, subject=subject).delete()[0]:
        record_event(item, actor, "finding.recalled", subject=subject)


def set_quiet_checks(quiet: bool, *, actor: User) -> None:
    """Whether findings wait until the person asks for them, in drafts of theirs. No item changes, so no event."""
    Preferences.objects.update_or_create(user=actor, defaults={"quiet_checks": quiet})
