"""Every write to an item: one function, one transaction, one event. It locks, asks, checks, writes, records.

Benchmarks are written in `benchmark_actions`, files imported in `importing`. Raises NotAllowed (403), SectionConflict
(409) and Invalid (422) with nothing written.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid

from . import graph, images, index, tasks
from .benchmarks import may_act_as
from .document import Document, DocumentError, Link, dangling_links, elements, empty_document, read_document, unlink
from .models import (
    Benchmark,
    Comment,
    Dismissal,
    Item,
    ItemEvent,
    Membership,
    Revision,
    SaveKey,
)
from .permissions import may_change_coeditors, may_comment, may_create_item, may_edit_item
from .states import Role, State

_STORED_FILE = re.compile(r"images/[0-9a-f]{64}\.[a-z0-9]{1,5}")


class SectionConflict(Conflict):
    """Somebody changed the section since the base hash. Carries their text and the caller's."""

    code = "section_conflict"


# --- items --------------------------------------------------------------------------------------------------------


@transaction.atomic
def create_item(benchmark: Benchmark, *, actor: User, document: Document | None = None, message: str = "") -> Item:
    """A new draft of one's own, empty or with a given document."""
    may_create_item(actor, benchmark).require()
    if document is None:
        document = replace(empty_document(str(uuid4()), benchmark.language), canary=benchmark.canary)
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
    index.create_rows([index.index_rows(item, d) for item, d in zip(items, derived, strict=True)])
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
) -> Item:
    """Replace one section and record a revision; returns the fresh item (as it was, when nothing changed).

    unlink_removed: "" refuses to remove what others refer to; "lose" drops such links; "inherit" also gives the
    dependents of a removed step its prerequisites.
    save_key: an idempotency key; a retry with the same key returns what the first one led to.
    Raises SectionConflict when the section is no longer the one with `base_hash`.
    """
    if unlink_removed not in ("", "lose", "inherit"):
        raise Invalid(_("unlink_removed must be “lose”, “inherit” or empty."), code="bad_unlink")
    if len(save_key) > 64:
        raise Invalid(_("The save key must have at most 64 characters."), code="bad_save_key")
    item = _locked(item)
    may_edit_item(actor, item).require()
    if save_key and SaveKey.objects.filter(item=item, key=save_key).exists():
        return item
    current = read_document(item.document)
    try:
        changed = current.with_section(section, content)
    except DocumentError as error:
        raise _invalid(error) from error
    if item.section_hashes.get(section) != base_hash:
        if changed.section_hashes[section] == item.section_hashes[section]:
            return item  # both wrote the same
        raise SectionConflict(
            _("Somebody changed this section since you opened it. Compare, then keep yours, take theirs, or merge."),
            section=section,
            hash=item.section_hashes[section],
            theirs=current.section(section),
            yours=changed.section(section),
        )
    if unlink_removed:
        changed = _unlink_removed(current, changed, inherit=unlink_removed == "inherit")
    refuse_broken(changed, before=current)
    if changed.hash == item.document_hash:
        return item
    write_document(item, changed, actor=actor, kind=Revision.Kind.EDIT, section=section, message=message)
    if save_key:
        SaveKey.objects.create(item=item, key=save_key, revision_number=item.revision_number)
    return item


@transaction.atomic
def restore_revision(item: Item, number: int, base_hash: str, *, actor: User) -> Item:
    """Make an earlier revision's document the present one, as a new revision."""
    item = _locked(item)
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
    item: Item, document: Document, *, actor: User, kind: str, section: str = "", message: str = ""
) -> Revision:
    """Document, derived columns, index rows, revision and event of a locked row, in the caller's transaction."""
    derived = index.derive(document)
    changed = [name for name, digest in document.section_hashes.items() if item.section_hashes.get(name) != digest]
    index.apply(item, derived)
    item.revision_number += 1
    item.save(update_fields=[*derived.columns, "revision_number", "updated"])
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
    data = {"revision": revision.number, "section": section}
    ItemEvent.objects.create(
        benchmark_id=item.benchmark_id, item=item, actor=actor, kind=f"item.{_PAST[kind]}", data=data
    )
    tasks.check_later([item.pk])
    return revision


_PAST: dict[str, str] = {
    Revision.Kind.CREATE: "created",
    Revision.Kind.EDIT: "edited",
    Revision.Kind.RESTORE: "restored",
    Revision.Kind.IMPORT: "imported",
}


def _locked(item: Item) -> Item:
    return Item.objects.select_for_update(of=("self",)).select_related("benchmark", "author").get(pk=item.pk)


def _invalid(error: DocumentError) -> Invalid:
    return Invalid(str(error), problems=[{"path": p.path, "message": p.message} for p in error.problems])


_LISTS = ("nodes", "relations", "checklist", "sources", "images")


def _unlink_removed(before: Document, after: Document, *, inherit: bool) -> Document:
    """`after` without links to what it removed from `before`."""
    kept = {name: {element.key for element in getattr(after, name)} for name in _LISTS}
    removed = {name: [e for e in getattr(before, name) if e.key not in kept[name]] for name in _LISTS}
    targets = {element.key for elements in removed.values() for element in elements}
    if not targets:
        return after
    # The removed steps stand in again while links are dropped, so that their prerequisites can be inherited.
    whole = replace(after, checklist=(*after.checklist, *removed["checklist"]))
    cleaned = unlink(whole, targets, inherit_prerequisites=inherit)
    lost = targets | (kept["relations"] - {r.key for r in cleaned.relations})
    cleaned = unlink(cleaned, lost - targets) if lost != targets else cleaned
    return replace(cleaned, checklist=tuple(step for step in cleaned.checklist if step.key not in targets))


def refuse_broken(document: Document, before: Document | None = None) -> None:
    """Raises Invalid for links that dangle and for cycles, each spelled out; `before` tells what was removed."""
    dangling = dangling_links(document)
    if dangling:
        there = {e.key for name in _LISTS for e in getattr(before, name)} if before else set()
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
    }
    return _("%(referrer)s refers to the %(kind)s %(target)s, which does not exist.") % {
        "referrer": link.referrer,
        "kind": names[link.target_list],
        "target": link.target,
    }


# --- for audit: the only ways to change state and gates -----------------------------------------------------------


def move_state(item: Item, to: State) -> None:
    """Set the state of a row that the caller locked, after it wrote the Transition."""
    item.state = to.value
    item.save(update_fields=["state", "updated"])


def record_gates(item: Item, gates: Mapping[str, Any]) -> None:
    """Set the gate summary of a row that the caller locked."""
    item.gates = dict(gates)
    item.save(update_fields=["gates", "updated"])


# --- around an item -----------------------------------------------------------------------------------------------


@transaction.atomic
def set_coeditors(item: Item, users: Sequence[User], *, actor: User) -> None:
    """Replace the co-editors; all must be members, and the author is none."""
    item = _locked(item)
    may_change_coeditors(actor, item).require()
    members = set(Membership.objects.filter(benchmark=item.benchmark).values_list("user_id", flat=True))
    if strangers := [u.get_username() for u in users if u.pk not in members]:
        raise Invalid(_("Not members of this benchmark: %(names)s.") % {"names": ", ".join(strangers)})
    item.coeditors.set([u for u in users if u.pk != item.author_id])
    names = [u.get_username() for u in users]
    ItemEvent.objects.create(
        benchmark_id=item.benchmark_id, item=item, actor=actor, kind="item.shared", data={"coeditors": names}
    )


def _with_comment_counts(item: Item, write: Callable[[], None]) -> None:
    write()
    open_ones = item.comments.filter(resolved=None, parent=None)
    item.open_comments = open_ones.count()
    item.blocking_comments = open_ones.filter(blocking=True).count()
    item.save(update_fields=["open_comments", "blocking_comments"])


@transaction.atomic
def add_comment(
    item: Item, body: str, *, actor: User, anchor: str = "", blocking: bool = False, parent: Comment | None = None
) -> Comment:
    """A comment on the item, a section or an element; a reply when `parent` is given."""
    item = _locked(item)
    may_comment(actor, item).require()
    if not body.strip():
        raise Invalid(_("Write something first."), code="empty_comment")
    if parent is not None and parent.item_id != item.pk:
        raise Invalid(_("That comment belongs to another item."), code="wrong_item")
    comment = Comment(
        item=item,
        parent=parent.parent or parent if parent else None,
        anchor=parent.anchor if parent else anchor[:60],
        body=body,
        blocking=blocking and parent is None,
        author=actor,
    )
    _with_comment_counts(item, comment.save)
    data = {"comment": comment.pk, "anchor": comment.anchor, "blocking": comment.blocking}
    ItemEvent.objects.create(benchmark_id=item.benchmark_id, item=item, actor=actor, kind="comment.added", data=data)
    return comment


@transaction.atomic
def resolve_comment(comment: Comment, *, actor: User, resolved: bool = True) -> None:
    """Resolve or reopen a thread. Who wrote it, auditors and above may; an author does not clear a blocker."""
    item = _locked(comment.item)
    may_comment(actor, item).require()
    comment = Comment.objects.select_for_update().get(pk=comment.pk, parent=None)
    if comment.blocking and comment.author_id != actor.pk:
        may_act_as(actor, item.benchmark, Role.AUDITOR).require()
    comment.resolved = timezone.now() if resolved else None
    comment.resolved_by = actor if resolved else None
    _with_comment_counts(item, comment.save)
    kind = "comment.resolved" if resolved else "comment.reopened"
    ItemEvent.objects.create(
        benchmark_id=item.benchmark_id, item=item, actor=actor, kind=kind, data={"comment": comment.pk}
    )


@transaction.atomic
def dismiss_finding(item: Item, subject: str, fingerprint: str, reason: str, *, actor: User) -> None:
    """Set a warning aside with a reason; errors cannot be dismissed."""
    item = _locked(item)
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
    ItemEvent.objects.create(
        benchmark_id=item.benchmark_id,
        item=item,
        actor=actor,
        kind="finding.dismissed",
        data={"subject": subject, "reason": reason.strip()},
    )


@transaction.atomic
def recall_dismissal(item: Item, subject: str, *, actor: User) -> None:
    item = _locked(item)
    may_edit_item(actor, item).require()
    if Dismissal.objects.filter(item=item, subject=subject).delete()[0]:
        ItemEvent.objects.create(
            benchmark_id=item.benchmark_id, item=item, actor=actor, kind="finding.recalled", data={"subject": subject}
        )


@transaction.atomic
def add_image(item: Item, data: bytes, name: str, *, actor: User, role: str = "evidence") -> Item:
    """Store an uploaded picture and append it to the item's images. Appending conflicts with nobody."""
    picture = images.prepare_upload(data, name)
    item = _locked(item)
    may_edit_item(actor, item).require()
    stored = images.store(item.benchmark, picture)
    document = read_document(item.document)
    taken = {element.key for _list, element in elements(document)}
    key = next(k for k in (f"i{n}" for n in range(1, len(taken) + 2)) if k not in taken)
    section = document.section("images")["images"]
    section.append({"key": key, "role": role, **images.document_fields(stored)})
    try:
        changed = document.with_section("images", {"images": section})
    except DocumentError as error:
        raise _invalid(error) from error
    write_document(
        item, changed, actor=actor, kind=Revision.Kind.EDIT, section="images", message=_("Added an image: %s") % key
    )
    return item
