"""Suggested edits: a changed text for one field, made by anyone who may comment, decided by whoever may edit then.

The suggester becomes neither author nor co-editor: the revision is the acceptor's, its message names the suggester.
"""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed

from .actions import locked_item, record_event, write_document
from .anchors import text_at, with_text
from .diff import merge_words
from .document import Document, DocumentError, clean_text, read_document
from .models import Item, Notice, Revision, Suggestion
from .notice_actions import finish, notify, people_of
from .notices import name_of
from .permissions import may_comment, may_edit_item, may_suggest_edit

LONGEST = 50_000  # characters of a text


def _event(item: Item, actor: User, kind: str, suggestion: Suggestion, **data: object) -> None:
    record_event(item, actor, kind, suggestion=suggestion.pk, path=suggestion.path, **data)


def _changed(document: Document, path: str, text: str) -> tuple[str, Document]:
    try:
        return with_text(document, path, text)
    except DocumentError as error:
        problems = [{"path": p.path, "message": p.message} for p in error.problems]
        raise Invalid(str(error), problems=problems) from error


@transaction.atomic
def suggest_edit(
    item: Item, path: str, after: str, *, actor: User, before: str | None = None, note: str = ""
) -> Suggestion:
    """Propose a text for the field at `path`. before: the text it was made for, where that may have changed since."""
    item = locked_item(item)
    may_suggest_edit(actor, item).require()
    document = read_document(item.document)
    now = text_at(item.document, path)
    if now is None:
        text = _("There is no text “%(path)s” in this item. Name a field, such as question or c3.conclusion.")
        raise Invalid.at("path", text % {"path": path[:100]}, code="unknown_path")
    try:
        after, note = clean_text(after), clean_text(note).strip()
        before = now if before is None else clean_text(before)
    except ValueError as error:
        raise Invalid.at("after", str(error)) from error
    if max(len(after), len(note)) > LONGEST:
        text = _("A text has at most %(most)d characters; shorten it.")
        raise Invalid.at("after", text % {"most": LONGEST}, code="long_text")
    if before != now:
        raise Conflict(_("This text was changed since you opened it. Look at it as it is now."), code="stale", now=now)
    if _changed(document, path, after)[1].hash == item.document_hash:
        raise Invalid.at("after", _("This is the present text. Change it, or comment instead."), code="same_text")
    suggestion = Suggestion.objects.create(item=item, path=path, before=before, after=after, note=note, author=actor)
    notify(people_of(item), Notice.Kind.SUGGESTION, item, actor=actor, suggestion=suggestion)
    _event(item, actor, "suggestion.made", suggestion)
    return suggestion


def _open(suggestion: Suggestion) -> Suggestion:
    """The row, locked; refused when it was decided meanwhile."""
    row = Suggestion.objects.select_for_update().select_related("author").get(pk=suggestion.pk)
    if row.status != Suggestion.Status.OPEN:
        text = _("This suggestion is %(status)s already.") % {"status": row.get_status_display()}
        raise Conflict(text, code="decided", status=row.status)
    return row


def _decide(item: Item, row: Suggestion, status: str, actor: User, reason: str = "") -> None:
    row.status, row.decided, row.decided_by, row.reason = status, timezone.now(), actor, reason
    row.save(update_fields=["status", "decided", "decided_by", "reason", "revision_number"])
    finish(Notice.objects.filter(suggestion=row))
    if status != Suggestion.Status.WITHDRAWN:
        notify([row.author], Notice.Kind.DECISION, item, actor=actor, suggestion=row, about=status, text=reason)
    _event(item, actor, f"suggestion.{status}", row, revision=row.revision_number)


@transaction.atomic
def accept_suggestion(suggestion: Suggestion, *, actor: User, over: str | None = None) -> Item:
    """Take a suggestion over, as a new revision of the acceptor's; merged by words where the text changed since.

    over: the present text, which the acceptor saw and lets the suggested one replace when the two cannot be merged.
    """
    item = locked_item(suggestion.item)
    may_edit_item(actor, item).require()
    row = _open(suggestion)
    document = read_document(item.document)
    now = text_at(item.document, row.path)
    over = over.replace("\r\n", "\n") if over is not None else None
    if now is None:
        text = _("%(path)s is not in the item any more. Decline the suggestion, or restore what was removed.")
        raise Conflict(text % {"path": row.path}, code="gone")
    merged = row.after if now in (row.before, over) else merge_words(row.before, row.after, now)
    if merged is None:
        text = _(
            "The same words were changed since this was suggested. Compare, then take the suggested text or decline."
        )
        raise Conflict(text, code="text_changed", now=now, before=row.before, after=row.after)
    section, changed = _changed(document, row.path, merged)
    if changed.hash != item.document_hash:
        message = _("Suggested by %(who)s: %(what)s") % {"who": name_of(row.author), "what": row.note or row.path}
        kind = Revision.Kind.EDIT
        revision = write_document(item, changed, actor=actor, kind=kind, section=section, message=message)
        row.revision_number = revision.number
    _decide(item, row, Suggestion.Status.ACCEPTED, actor)
    return item


@transaction.atomic
def decline_suggestion(suggestion: Suggestion, reason: str, *, actor: User) -> None:
    """Say no, and why. Whoever may edit the item."""
    item = locked_item(suggestion.item)
    may_edit_item(actor, item).require()
    row = _open(suggestion)
    if not reason.strip():
        raise Invalid.at("reason", _("Say why: the one who suggested it will read it."), code="reason_missing")
    _decide(item, row, Suggestion.Status.DECLINED, actor, reason.strip())


@transaction.atomic
def withdraw_suggestion(suggestion: Suggestion, *, actor: User) -> None:
    """Take back one's own suggestion, in every state of the item."""
    item = locked_item(suggestion.item)
    may_comment(actor, item).require()
    row = _open(suggestion)
    if row.author_id != actor.pk:
        raise NotAllowed(_("Only who made a suggestion withdraws it. You can decline it, if you may edit the item."))
    _decide(item, row, Suggestion.Status.WITHDRAWN, actor)
