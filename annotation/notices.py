"""What people are told, in words and with the address it leads to; and what is addressed to one person. Reads only."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, F, Q, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from lhdr_site.shared.prepared import Prepared

from .gates import is_blind_to
from .models import Benchmark, Notice

Kind = Notice.Kind
#: Kinds that stand on the home page until they are done; the others are shown there in lists of their own.
INBOX = (Kind.MENTION, Kind.ANSWER, Kind.COMMENT, Kind.SUGGESTION, Kind.DECISION, Kind.RUN)
#: {who}, {item} and {place}; by kind, or by kind and `about`.
SENTENCES: dict[tuple[str, str] | str, str | Promise] = {
    Kind.MENTION: _("{who} mentioned you on {place}"),
    Kind.ANSWER: _("{who} answered on {place}"),
    Kind.COMMENT: _("{who} commented on {place}"),
    (Kind.COMMENT, "flagged"): _("{who} flagged {item} as faulty"),
    (Kind.DECISION, "erratum_valid"): _("{who} decided on a fault of {item}: it is valid"),
    (Kind.DECISION, "erratum_revised"): _("{who} decided on a fault of {item}: it is to be revised"),
    (Kind.DECISION, "erratum_uncertain"): _("{who} decided on a fault of {item}: uncertain"),
    (Kind.DECISION, "erratum_retired"): _("{who} decided on a fault of {item}: it is retired"),
    Kind.SUGGESTION: _("{who} suggests an edit of {place}"),
    (Kind.DECISION, "accepted"): _("{who} accepted your edit of {place}"),
    (Kind.DECISION, "declined"): _("{who} declined your edit of {place}"),
    Kind.ASSIGNED: _("{who} assigned {item} to you"),
    (Kind.MOVED, "returned"): _("{who} returned {item}"),
    (Kind.MOVED, "approved"): _("{who} approved {item}"),
    (Kind.MOVED, "locked"): _("{who} locked {item}"),
    (Kind.MOVED, "rejected"): _("{who} rejected {item}"),
}
#: Of what is no item, by `about`: its facts -> its short name, and all that there is to say. An app above enters its
#: own when it is ready. Worded when it is shown, so that everybody reads it in their own language.
ENDS: dict[str, Callable[[Mapping[str, Any]], tuple[str, str]]] = {}


def name_of(user: Any) -> str:
    return (user.get_full_name() or user.get_username()) if user else str(_("The system"))


def sentence(notice: Notice) -> str:
    """Who did what, or what there is to say, in one line of plain text."""
    if notice.item is None:
        return " ".join(_end(notice)[1].split())
    item = f"#{notice.item.number}"
    anchor = notice.comment.anchor if notice.comment else notice.suggestion.path if notice.suggestion else ""
    place = str(_("{anchor} of {item}")).format(anchor=anchor, item=item) if anchor else item
    text = SENTENCES.get((notice.kind, notice.about)) or SENTENCES.get(notice.kind) or "{who}: {item}"
    return " ".join(str(text).format(who=name_of(notice.actor), item=item, place=place).split())


def _end(notice: Notice) -> tuple[str, str]:
    return ENDS[notice.about](notice.facts or {})


def said(notice: Notice) -> str:
    """What was written: the comment, the note or the reason; "" where nothing was."""
    if notice.comment:
        return notice.comment.body
    if notice.suggestion and notice.kind == Kind.SUGGESTION:
        return notice.suggestion.note or notice.suggestion.after
    return notice.text


def name_in_short(notice: Notice) -> str:
    """What it is about: #12, run 7."""
    return f"#{notice.item.number}" if notice.item else _end(notice)[0]


def path_of(notice: Notice) -> str:
    """The address on the site that it leads to."""
    if notice.item is None:
        return notice.address
    page = reverse("annotation:item-page", args=[notice.benchmark.slug, notice.item.number])
    if notice.comment_id:
        return f"{page}?panel=comments&show=all#comment-{notice.comment_id}"
    if notice.suggestion_id:
        return f"{page}?panel=comments&show=all#suggestion-{notice.suggestion_id}"
    return page


def worded(notices: Iterable[Notice]) -> list[Notice]:
    """The notices, each with `sentence`, `said` and `path`."""
    result = list(notices)
    for notice in result:
        notice.sentence, notice.said, notice.path = sentence(notice), said(notice), path_of(notice)  # type: ignore[attr-defined]
    return result


def _for(user: Any) -> QuerySet[Notice]:
    """What is addressed to a person in the benchmarks that they are still a member of, and what they may know now."""
    return Notice.objects.filter(may_hear(user), user=user, kind__in=INBOX, benchmark__memberships__user=F("user"))


def may_hear(user: Any) -> Q:
    """Of notices: not what others made of an item that the person is to judge without knowing it; it waits."""
    return Q(item=None) | ~is_blind_to(user, "item")


def with_rows(notices: QuerySet[Notice]) -> QuerySet[Notice]:
    """With all that wording needs, and no document."""
    columns = ["kind", "about", "text", "created", "done", "user", "mail", "facts", "address"]
    columns += ["item__number", "benchmark__slug"]
    people = ["actor__username", "actor__first_name", "actor__last_name"]
    of = ["comment__body", "comment__anchor", "comment__blocking", "comment__parent", "comment__deleted"]
    of += ["suggestion__path", "suggestion__note", "suggestion__after"]
    return notices.select_related("actor", "benchmark", "item", "comment", "suggestion").only(*columns, *people, *of)


_OPEN = Prepared(
    lambda user: _for(User(pk=user)).filter(done=None).order_by().values("user_id").annotate(n=Count("pk")), "user"
)


def open_count(user: Any) -> int:
    """How many things wait for a person: one query of an index of the open ones."""
    found = _OPEN.get(user=user.pk)
    return found["n"] if found else 0


def addressed_to(user: Any, benchmarks: Sequence[Benchmark] | None = None) -> QuerySet[Notice]:
    """Open ones first, each part newest first."""
    narrowed = Q() if benchmarks is None else Q(benchmark__in=benchmarks)
    return with_rows(_for(user).filter(narrowed)).order_by(F("done").desc(nulls_first=True), "-pk")
