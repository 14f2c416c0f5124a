"""Every write to comments: threads, replies, mentions, and who is told. One function, one transaction, one event."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from lhdr_site.shared.markdown import render_markdown

from .actions import locked_item, record_event
from .benchmarks import may_act_as
from .mentions import names_in
from .models import Comment, Item, Mention, Notice
from .notice_actions import finish, notify, people_of
from .permissions import may_comment
from .queries import has_been
from .states import Role

LONGEST = 20_000  # characters of one comment


def _with_counts(item: Item, write: Callable[[], Any]) -> None:
    write()
    open_ones = item.comments.filter(resolved=None, parent=None)
    item.open_comments = open_ones.count()
    item.blocking_comments = open_ones.filter(blocking=True).count()
    item.save(update_fields=["open_comments", "blocking_comments"])


def _event(item: Item, actor: User, kind: str, comment: Comment, **data: Any) -> None:
    record_event(item, actor, kind, comment=comment.pk, anchor=comment.anchor, **data)


def _text(body: str) -> str:
    body = body.replace("\r\n", "\n").strip()
    if not body:
        raise Invalid.at("body", _("Write something first."), code="empty_comment")
    if len(body) > LONGEST:
        text = _("A comment has at most %(most)d characters; this one has %(n)d. Shorten it, or make two of it.")
        raise Invalid.at("body", text % {"most": LONGEST, "n": len(body)}, code="long_comment")
    return body


def _own(comment: Comment, actor: User) -> tuple[Item, Comment]:
    """The item and the comment, both locked, for the one who wrote it."""
    item = locked_item(comment.item)
    may_comment(actor, item).require()
    row = Comment.objects.select_for_update().filter(pk=comment.pk).first()
    if row is None or row.deleted:
        raise Conflict(_("This comment was deleted meanwhile."), code="deleted")
    if row.author_id != actor.pk:
        raise NotAllowed(_("Only who wrote a comment changes or deletes it. Answer it instead."))
    return item, row


def _mention(comment: Comment, item: Item, actor: User) -> list[User]:
    """Make the rows of mentions what the text says; returns whom it names anew."""
    people = {m.user.get_username().lower(): m.user for m in _members(item)}
    html = render_markdown(comment.body)
    named = [people[name] for name in names_in(html, {name: name for name in people})]
    before = set(comment.mentions.values_list("user", flat=True))
    gone = before - {user.pk for user in named}
    comment.mentions.filter(user__in=gone).delete()
    comment.notices.filter(user__in=gone, kind=Notice.Kind.MENTION).delete()
    new = [user for user in named if user.pk not in before]
    Mention.objects.bulk_create(Mention(comment=comment, user=user) for user in new)
    notify(new, Notice.Kind.MENTION, item, actor=actor, comment=comment)
    return named


def _members(item: Item) -> Iterable[Any]:
    return item.benchmark.memberships.filter(user__is_active=True).select_related("user")


def _of_thread(root: Comment) -> Q:
    return Q(comment=root) | Q(comment__parent=root)


@transaction.atomic
def add_comment(
    item: Item, body: str, *, actor: User, anchor: str = "", blocking: bool = False, parent: Comment | None = None
) -> Comment:
    """A comment on the item, a section, a field or an element; a reply when `parent` is given.

    Tells whom it mentions, the people of the thread, and the item's author and co-editors: each once.
    """
    item = locked_item(item)
    may_comment(actor, item).require()
    body = _text(body)
    if parent is not None and parent.item_id != item.pk:
        raise Invalid(_("That comment belongs to another item."), code="wrong_item")
    root = (parent.parent or parent) if parent else None
    blocking = blocking and root is None
    if blocking:
        may_act_as(actor, item.benchmark, Role.AUDITOR).require()
    if root is None and not has_been(item, anchor):
        text = _("Nothing in this item is or was called “%(key)s”. Name a section, a field or an element's key.")
        raise Invalid.at("anchor", text % {"key": anchor[:60]}, code="unknown_anchor")
    comment = Comment(
        item=item,
        parent=root,
        anchor=root.anchor if root else anchor,
        body=body,
        blocking=blocking,
        author=actor,
    )
    _with_counts(item, comment.save)
    told = {user.pk for user in _mention(comment, item, actor)}
    if root is not None:
        finish(Notice.objects.filter(_of_thread(root), user=actor))
        in_thread = User.objects.filter(pk__in=[root.author_id, *root.replies.values_list("author", flat=True)])
        others = [user for user in in_thread if user.pk not in told]
        notify(others, Notice.Kind.ANSWER, item, actor=actor, comment=comment)
        told |= {user.pk for user in others}
    mine = [user for user in people_of(item) if user.pk not in told]
    notify(mine, Notice.Kind.COMMENT, item, actor=actor, comment=comment)
    _event(item, actor, "comment.added", comment, blocking=comment.blocking)
    return comment


@transaction.atomic
def edit_comment(comment: Comment, body: str, *, actor: User) -> Comment:
    """Change the text of one's own comment; the text before stays in the event."""
    item, comment = _own(comment, actor)
    body = _text(body)
    if body == comment.body:
        return comment
    before, comment.body, comment.edited = comment.body, body, timezone.now()
    comment.save(update_fields=["body", "edited"])
    _mention(comment, item, actor)
    _event(item, actor, "comment.edited", comment, before=before)
    return comment


@transaction.atomic
def delete_comment(comment: Comment, *, actor: User) -> None:
    """Delete one's own comment: the row where nothing hangs on it, else its text; then with its last reply the row."""
    item, comment = _own(comment, actor)
    _event(item, actor, "comment.deleted", comment)
    if comment.replies.exists():
        comment.body, comment.deleted = "", timezone.now()
        comment.save(update_fields=["body", "deleted"])
        comment.mentions.all().delete()
        comment.notices.all().delete()
        return
    root = comment.parent
    _with_counts(item, comment.delete)
    if root is not None and root.deleted and not root.replies.exists():
        _with_counts(item, root.delete)


@transaction.atomic
def resolve_comment(comment: Comment, *, actor: User, resolved: bool = True) -> None:
    """Resolve or reopen a thread. Who wrote it, auditors and above may; an author does not clear a blocker."""
    item = locked_item(comment.item)
    may_comment(actor, item).require()
    comment = Comment.objects.select_for_update().get(pk=comment.pk, parent=None)
    if comment.blocking and comment.author_id != actor.pk:
        may_act_as(actor, item.benchmark, Role.AUDITOR).require()
    if bool(comment.resolved) == resolved:
        return
    comment.resolved = timezone.now() if resolved else None
    comment.resolved_by = actor if resolved else None
    _with_counts(item, comment.save)
    if resolved:
        finish(Notice.objects.filter(_of_thread(comment)))
    _event(item, actor, "comment.resolved" if resolved else "comment.reopened", comment)


@transaction.atomic
def set_blocking(comment: Comment, blocking: bool, *, actor: User) -> None:
    """Say that a thread blocks locking, or no longer does. Auditors and above."""
    item = locked_item(comment.item)
    may_act_as(actor, item.benchmark, Role.AUDITOR).require()
    comment = Comment.objects.select_for_update().get(pk=comment.pk, parent=None)
    if comment.blocking == blocking:
        return
    comment.blocking = blocking
    _with_counts(item, comment.save)
    _event(item, actor, "comment.blocked" if blocking else "comment.unblocked", comment)
