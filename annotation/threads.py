"""What was said about an item, as the panel shows it: threads and suggested edits by section. Reads only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Prefetch
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from lhdr_site.shared.markdown import render_markdown

from .anchors import Place, find_place, text_at, text_paths
from .diff import text_runs
from .gates import heard
from .mentions import with_chips
from .models import Comment, Mention, Suggestion
from .notices import name_of
from .queries import ItemPage, removals_of

SHOWS: dict[str, Callable[[Any, Any], bool]] = {
    "open": lambda row, user: row.is_open,
    "mine": lambda row, user: user.pk in row.people or row.names_me,
    "blocking": lambda row, user: row.is_open and row.blocks,
    "resolved": lambda row, user: not row.is_open,
    "all": lambda row, user: True,
}
_FIELDS = {
    "why_needed": gettext_lazy("why needed"),
    "answer_aliases": gettext_lazy("aliases"),
    "excluded_by": gettext_lazy("excluded by"),
}


def place_words(place: Place) -> str:
    """A place in words, short: “Step 3, why needed”."""
    names = {
        "nodes": _("Node %(key)s"),
        "relations": _("Relation %(key)s"),
        "checklist": _("Step %(number)d"),
        "sources": _("Source %(key)s"),
        "images": _("Image %(key)s"),
        "rivals": _("Rival %(number)d"),
    }
    part = ", ".join(str(_FIELDS.get(name, name.replace("_", " "))) for name in place.field.split(".") if name)
    if place.list_name:
        name = names[place.list_name] % {"key": place.key, "number": place.number}
        return f"{name}, {part}" if part else name
    return part.capitalize()


@dataclass
class Row:
    """A thread or a suggestion with where it hangs."""

    section: str
    anchor: str
    words: str = ""  # the place in words; "" for the whole item
    about: str = ""
    href: str = ""  # "" where the place is gone
    thread: Any = None
    suggestion: Any = None
    names_me: bool = False
    now: str | None = None  # the present text of what a suggestion is for

    @property
    def is_open(self) -> bool:
        return not self.thread.resolved if self.thread else self.suggestion.status == Suggestion.Status.OPEN

    @property
    def blocks(self) -> bool:
        return bool(self.thread and self.thread.blocking)

    @cached_property
    def people(self) -> set[int]:
        """Who wrote in it."""
        if self.suggestion:
            return {self.suggestion.author_id}
        return {row.author_id for row in (self.thread, *self.thread.replies.all())}

    @property
    def runs(self) -> Any:
        return text_runs(self.suggestion.before, self.suggestion.after)

    @property
    def is_stale(self) -> bool:
        """Whether the text is another one than the suggestion was made for."""
        return self.is_open and self.now != self.suggestion.before


@dataclass
class Talk:
    """All that was said about an item, narrowed to what is shown."""

    page: ItemPage
    show: str = "open"
    rows: list[Row] = field(default_factory=list)

    @cached_property
    def members(self) -> list[Any]:
        rows = self.page.item.benchmark.memberships.filter(user__is_active=True).select_related("user")
        return sorted((row.user for row in rows), key=lambda user: user.get_username())

    @cached_property
    def names(self) -> dict[str, str]:
        return {user.get_username().lower(): name_of(user) for user in self.members}

    def html(self, body: str) -> SafeString:
        return with_chips(render_markdown(body, links=self.page.targets), self.names)

    @cached_property
    def counts(self) -> list[tuple[str, int]]:
        """Each way to narrow the list, with how many it shows."""
        return [(name, sum(test(row, self.page.user) for row in self.rows)) for name, test in SHOWS.items()]

    @cached_property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """Shown rows by section in the order of the page, the whole item first; newest first, suggestions before."""
        shown = [row for row in self.rows if SHOWS[self.show](row, self.page.user)]
        order = ["", *self.page.order]
        return [(name, rows) for name in order if (rows := [row for row in shown if row.section == name])]


def talk_of(page: ItemPage, show: str = "open") -> Talk:
    """Threads and suggestions of an item. show: one of SHOWS; anything else shows the open ones."""
    talk = Talk(page, show if show in SHOWS else "open")
    document = page.item.document
    replies = heard(Comment.objects.select_related("author"), page.item, page.user)
    threads = list(
        heard(page.item.comments.filter(parent=None), page.item, page.user)
        .select_related("author", "resolved_by")
        .prefetch_related(Prefetch("replies", replies))
        .order_by("-pk")
    )
    naming = Mention.objects.filter(user=page.user, comment__item=page.item)
    named = set(naming.values_list("comment", flat=True))
    suggested = heard(page.item.suggestions.select_related("author", "decided_by"), page.item, page.user)
    suggestions = list(suggested.order_by("-pk"))
    gone = removals_of(page.item, {t.anchor for t in threads if find_place(document, t.anchor) is None})

    def row(anchor: str, **what: Any) -> Row:
        place = find_place(document, anchor)
        if place is None:
            removal = gone.get(anchor)
            word = _(removal.word) if removal and removal.word else ""
            text = _("the %(word)s %(key)s was removed in r%(revision)d") if removal else _("%(key)s is not here")
            values = {"word": word, "key": anchor, "revision": removal.revision if removal else 0}
            return Row("", anchor, " ".join((text % values).split()), **what)
        href = page.anchors.get(place.key or anchor) or (f"#{place.section}" if place.section else "")
        return Row(place.section, anchor, place_words(place), place.about, href, **what)

    talk.rows = [row(s.path, suggestion=s, now=text_at(document, s.path)) for s in suggestions]
    for thread in threads:
        thread.html = talk.html(thread.body)
        for reply in thread.replies.all():
            reply.html = talk.html(reply.body)
        names_me = bool(named & {thread.pk, *(reply.pk for reply in thread.replies.all())})
        talk.rows.append(row(thread.anchor, thread=thread, names_me=names_me))
    return talk


def choices_of(page: ItemPage) -> list[tuple[str, str]]:
    """What a comment can be about besides the whole item: sections, fields, elements."""
    result = []
    for name, label in page.element_labels:
        place = find_place(page.item.document, name)
        if place:
            result.append((name, f"{place_words(place)} {label}".strip()))
    return result


def texts_of(page: ItemPage, anchor: str) -> list[tuple[str, str, str]]:
    """(path, place in words, present text) of the texts at an anchor that an edit can be suggested for."""
    document = page.item.document
    result = []
    for path in text_paths(document, anchor):
        place = find_place(document, path)
        result.append((path, place_words(place) if place else path, text_at(document, path) or ""))
    return result
