"""The audit trail: every event of an item or a benchmark, the newest first, filtered, by the page or whole. Reads only.

Who audits an item blind sees nothing of it until they end. Of a second audit that is not ended, people see only what
they did themselves, and of every second audit only that it went on, never what was answered.
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.activity import SENTENCES, plain_words_of
from annotation.benchmarks import Benchmark, Item
from annotation.models import ItemEvent
from annotation.states import Role, State
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.events import SOURCES, Event
from lhdr_site.shared.numbers import read_whole

from .models import BlindAudit
from .permissions import role_name
from .text import rule_name, state_name
from .workflow import CRITERIA, Rule

PAGE: Final = 50
SYSTEM: Final = "*"  # in place of a person: what the Workbench did by itself; no name of a user
SECOND: Final = "blind_audit."
_ARRANGED: Final = (
    *("item.shared", "item.assigned", "item.handed_over", "item.made_golden", "item.no_longer_golden"),
    "image.fetch_asked",
)
_BACK: Final = ("item.unlocked", "item.reopened")
#: Groups of kinds: a label, and kinds or their nouns (with the full stop).
GROUPS: Final[Mapping[str, tuple[str | Promise, tuple[str, ...]]]] = {
    "moves": (
        gettext_lazy("Moves between states"),
        ("item.submitted", "item.withdrawn", "item.passed", "item.returned", "item.rejected", "item.locked", *_BACK),
    ),
    "judging": (
        gettext_lazy("Judging"),
        ("review.", "criterion.", "element.", "candidate.", "point.", "rule.", "item.claimed", "item.given_back"),
    ),
    "evidence": (gettext_lazy("Probes, grading and links"), ("probe.", "grade_check.", "link.", "links.")),
    "calibration": (gettext_lazy("Pilot and calibration"), ("pilot.", "annotator.")),
    "second": (gettext_lazy("Second audits"), (SECOND, "residual.")),
    "errata": (gettext_lazy("Errata"), ("erratum.",)),
    "releases": (gettext_lazy("Releases and takedowns"), ("release.", "image.redacted")),
    "writing": (
        gettext_lazy("Writing"),
        ("item.created", "item.imported", "items.", "item.edited", "item.restored", "step.", "finding.", *_ARRANGED),
    ),
    "talk": (gettext_lazy("Comments and suggested edits"), ("comment.", "suggestion.")),
    "settings": (
        gettext_lazy("Settings, members and ideas"),
        ("benchmark.", "membership.", "audit_plan.", "category.", "operation_tag.", "guideline.", "view.", "seed."),
    ),
}
#: What of an event's data is shown beside its sentence. Never: keys of rows, texts that somebody took back.
FACTS: Final[Mapping[str, str | Promise]] = {
    "from": gettext_lazy("from"),
    "to": gettext_lazy("to"),
    "phase": gettext_lazy("phase"),
    "criterion": gettext_lazy("criterion"),
    "element": gettext_lazy("element"),
    "passed": gettext_lazy("passed"),
    "supported": gettext_lazy("supported"),
    "rating": gettext_lazy("rating"),
    "rule": gettext_lazy("rule"),
    "person": gettext_lazy("for"),
    "status": gettext_lazy("status"),
    "was": gettext_lazy("before"),
    "fault": gettext_lazy("about"),
    "anchor": gettext_lazy("place"),
    "path": gettext_lazy("place"),
    "source": gettext_lazy("source"),
    "sources": gettext_lazy("sources"),
    "url": gettext_lazy("URL"),
    "section": gettext_lazy("section"),
    "subject": gettext_lazy("finding"),
    "answer": gettext_lazy("answer"),
    "text": gettext_lazy("text"),
    "system": gettext_lazy("system"),
    "judge": gettext_lazy("judge"),
    "old": gettext_lazy("before"),
    "new": gettext_lazy("after"),
    "changed": gettext_lazy("changed"),
    "auditor": gettext_lazy("auditor"),
    "due": gettext_lazy("due"),
    "former": gettext_lazy("former author"),
    "author": gettext_lazy("author"),
    "coeditors": gettext_lazy("co-editors"),
    "annotator": gettext_lazy("annotator"),
    "calibrated": gettext_lazy("calibrated"),
    "batch": gettext_lazy("batch"),
    "outcome": gettext_lazy("outcome"),
    "sample": gettext_lazy("sample"),
    "release": gettext_lazy("release"),
    "version": gettext_lazy("version"),
    "audited": gettext_lazy("audited"),
    "hash": gettext_lazy("SHA-256"),
    "sha256": gettext_lazy("SHA-256"),
    "reason": gettext_lazy("reason"),
    "note": gettext_lazy("note"),
}


# --- filters ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """group: of GROUPS or SOURCES; person: a user name or SYSTEM; since, until: whole days, both included."""

    group: str = ""
    person: str = ""
    since: dt.date | None = None
    until: dt.date | None = None
    item: int | None = None


def groups() -> dict[str, str]:
    """Name -> label, in the order of the filter."""
    return {name: str(label) for name, (label, _kinds) in GROUPS.items()} | {
        name: str(source.label) for name, source in SOURCES.items()
    }


def read_filters(given: Mapping[str, str]) -> Filters:
    """What an address asks for. Raises Invalid naming each field that means nothing."""
    problems = []

    def text(name: str) -> str:
        return given.get(name, "").strip()

    def day(name: str) -> dt.date | None:
        try:
            found = dt.date.fromisoformat(text(name)) if text(name) else None
        except ValueError:
            found = dt.date.min
        if found is not None and not 1900 <= found.year <= 9000:
            problems.append({"path": name, "message": _("Give a day as 2026-11-30.")})
        return found

    item = read_whole(text("item").removeprefix("#"))
    if text("item") and item is None:
        problems.append({"path": "item", "message": _("Give the number of an item.")})
    if text("group") and text("group") not in groups():
        known = ", ".join(groups())
        problems.append({"path": "group", "message": _("Use one of %(known)s.") % {"known": known}})
    filters = Filters(text("group"), text("person")[:150], day("since"), day("until"), item)
    if problems:
        raise Invalid.of(problems)
    return filters


# --- what is shown ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One event. `about` is what it happened to ("#12", "run 3", ""), `url` its address."""

    key: str
    at: dt.datetime
    kind: str
    group: str
    actor: User | None
    item: int | None
    about: str
    url: str
    revision: int | None
    words: str
    facts: Mapping[str, Any]

    @property
    def details(self) -> list[tuple[str, str]]:
        """The facts that the sentence does not say, each with its label."""
        sentence = str(SENTENCES.get(self.kind, ""))
        rest = [(name, value) for name, value in self.facts.items() if f"{{{name}}}" not in sentence]
        return [(str(FACTS[name]), _in_words(name, value)) for name, value in rest]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.key,
            "at": self.at.isoformat(),
            "kind": self.kind,
            "group": self.group,
            "actor": self.actor.get_username() if self.actor else None,
            "item": self.item,
            "about": self.about,
            "revision": self.revision,
            "words": self.words,
            "facts": self.facts,
        }


def _in_words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if name in ("from", "to") and value in list(State):
        return state_name(State(value))
    if name == "criterion" and value in CRITERIA:
        return _(CRITERIA[value].title)
    if name == "rule" and value in list(Rule):
        return rule_name(Rule(value))
    if name in ("old", "new") and isinstance(value, int):
        return role_name(Role(value)) if value in list(Role) else str(value)
    if isinstance(value, dict):
        pairs = [(key, v if isinstance(v, list) else [v]) for key, v in value.items()]
        return ", ".join(f"{key}: {' → '.join('–' if v in (None, '') else str(v) for v in vs)}" for key, vs in pairs)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def group_of(kind: str) -> str:
    noun = kind.partition(".")[0] + "."
    return next((name for name, (_label, kinds) in GROUPS.items() if kind in kinds or noun in kinds), "")


def _entry(event: ItemEvent, benchmark: Benchmark) -> Entry:
    data = event.data
    facts = {} if event.kind.startswith(SECOND) else {n: data[n] for n in FACTS if data.get(n) not in (None, "", [])}
    item = event.item.number if event.item else None
    revision = data.get("revision")
    return Entry(
        f"items.{event.pk}",
        event.created,
        event.kind,
        group_of(event.kind),
        event.actor,
        item,
        f"#{item}" if item else "",
        reverse("annotation:item-page", args=[benchmark.slug, item]) if item else "",
        revision if isinstance(revision, int) else None,
        plain_words_of(event),
        facts,
    )


def _foreign_entry(event: Event, name: str) -> Entry:
    source = SOURCES[name]
    about, url = source.about(event)
    key, words = f"{name}.{event.pk}", source.words(event)
    return Entry(key, event.created, event.kind, name, event.actor, None, about, url, None, words, {})


# --- reading ------------------------------------------------------------------------------------------------------


@dataclass
class Trail:
    """The trail of a benchmark, or of one item of it, as a person may see it."""

    user: Any
    benchmark: Benchmark
    filters: Filters
    item: Item | None = None

    def __post_init__(self) -> None:
        mine = BlindAudit.objects.filter(benchmark=self.benchmark, auditor=self.user, ended=None)
        blind = dict(mine.order_by("item__number").values_list("item_id", "item__number"))
        self.hidden = list(blind.values())  # numbers of the items that the person audits blind
        self._rows: dict[str, QuerySet[Any]] = {}
        if self.filters.group not in SOURCES:
            self._rows["items"] = self._narrowed(self._item_events(list(blind)))
        if self.item is None and self.filters.item is None:
            for name in SOURCES if not self.filters.group else SOURCES.keys() & {self.filters.group}:
                self._rows[name] = self._narrowed(SOURCES[name].rows(self.benchmark.pk))

    def page(self, before: str = "", size: int = PAGE) -> tuple[list[Entry], str]:
        """A page and the cursor of the next one, "" after the last; a cursor that cannot be read gives the first."""
        cursor = {name: int(pk) for name, pk in re.findall(r"(\w+)\.(\d{1,18})(?:,|$)", before) if name in self._rows}
        streams = []
        for name, rows in self._rows.items():
            older = rows.filter(pk__lt=cursor[name]) if name in cursor else rows
            streams.append(_named(name, older[: size + 1]))
        found = list(islice(_by_time(streams), size + 1))
        for name, event in found[:size]:
            cursor[name] = event.pk
        after = ",".join(f"{name}.{pk}" for name, pk in cursor.items()) if len(found) > size else ""
        return [self._entry(name, event) for name, event in found[:size]], after

    def everything(self) -> Iterator[Entry]:
        """Every entry, read as it is taken."""
        streams = [_named(name, rows.iterator(chunk_size=1000)) for name, rows in self._rows.items()]
        for name, event in _by_time(streams):
            yield self._entry(name, event)

    def _entry(self, name: str, event: Any) -> Entry:
        return _entry(event, self.benchmark) if name == "items" else _foreign_entry(event, name)

    def _item_events(self, blind: list[int]) -> QuerySet[ItemEvent]:
        rows = ItemEvent.objects.filter(benchmark=self.benchmark)
        if self.item is not None:
            rows = rows.filter(item=self.item)
        elif self.filters.item is not None:
            rows = rows.filter(item__number=self.filters.item)
        if blind:
            rows = rows.filter(Q(item=None) | ~Q(item__in=blind))
        if self.filters.group:
            wanted = GROUPS[self.filters.group][1]
            nouns = [Q(kind__startswith=kind) for kind in wanted if kind.endswith(".")]
            rows = rows.filter(Q(*nouns, _connector=Q.OR) | Q(kind__in=wanted))
        audit = Cast(KeyTextTransform("audit", "data"), BigIntegerField())
        ended = Exists(BlindAudit.objects.filter(pk=OuterRef("audit"), ended__isnull=False))
        rows = rows.alias(audit=audit).filter(~Q(kind__startswith=SECOND) | Q(actor=self.user) | Q(ended))
        people = ["actor__username", "actor__first_name", "actor__last_name"]
        return rows.select_related("actor", "item").only("kind", "data", "created", "item__number", *people)

    def _narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        if self.filters.person == SYSTEM:
            rows = rows.filter(actor=None)
        elif self.filters.person:
            rows = rows.filter(actor__username=self.filters.person)
        if self.filters.since:
            rows = rows.filter(created__gte=_midnight(self.filters.since))
        if self.filters.until:
            rows = rows.filter(created__lt=_midnight(self.filters.until + dt.timedelta(days=1)))
        return rows.order_by("-pk")


def _named(name: str, events: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    yield from ((name, event) for event in events)


def _by_time(streams: list[Iterator[tuple[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Streams that are each the newest first, as one."""
    return merge(*streams, key=lambda pair: pair[1].created, reverse=True)


def _midnight(day: dt.date) -> dt.datetime:
    return timezone.make_aware(dt.datetime.combine(day, dt.time.min))
