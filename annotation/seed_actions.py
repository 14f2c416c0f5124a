"""Ideas for items: added, claimed, given back, started, dropped. One function, one transaction, one event."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid
from lhdr_site.shared.validation import validate

from .actions import create_item
from .addresses import detect_kind, read_addresses
from .document import empty_document
from .models import Benchmark, Item, ItemEvent, Seed
from .permissions import may_create_item, may_drop_seed

LONGEST = 20_000  # characters of the notes
MOST = 200  # ideas pasted at once
Status = Seed.Status


def seeds_in(text: str) -> list[dict[str, str]]:
    """One idea a line: its title, and the address that stands in it as the starting point."""
    seeds = []
    for line in filter(None, (" ".join(line.split()) for line in text.splitlines())):
        found = read_addresses(line).found
        url, title = found[0] if found else ("", "")
        words = title or " ".join(line.replace(url, " ").split()).strip(" -–—|:•*") if url else line
        words = words or url
        seeds.append({"title": words[:200], "url": url, "body": line if len(words) > 200 else ""})
    return seeds


@transaction.atomic
def add_seeds(benchmark: Benchmark, seeds: Sequence[dict[str, str]], *, actor: User) -> list[Seed]:
    """New ideas, open to everybody; all of them or none."""
    may_create_item(actor, benchmark).require()
    if not seeds:
        raise Invalid.at("title", _("Write the idea first."), code="empty_seed")
    if len(seeds) > MOST:
        text = _("At most %(most)d ideas are taken at once; this is %(n)d. Paste them in parts.")
        raise Invalid.at("lines", text % {"most": MOST, "n": len(seeds)}, code="many_seeds")
    categories = set(benchmark.categories.values_list("slug", flat=True))
    rows = []
    for seed in seeds:
        row = Seed(benchmark=benchmark, author=actor, **seed)
        row.title = " ".join(row.title.split())
        if row.category and row.category not in categories:
            raise Invalid.at("category", _("This benchmark has no category “%s”.") % row.category, code="category")
        if len(row.body) > LONGEST or len(row.url) > 4000:
            text = _("The notes have at most %(most)d characters, the starting point 4000; shorten them.")
            raise Invalid.at("body", text % {"most": LONGEST}, code="long_seed")
        validate(row, exclude=("claimed_by", "claimed", "item"))
        rows.append(row)
    for row in rows:
        row.save()
    data = {"title": rows[0].title, "count": len(rows)}
    ItemEvent.objects.create(benchmark=benchmark, actor=actor, kind="seed.added", data=data)
    return rows


def _locked(seed: Seed) -> Seed:
    return Seed.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=seed.pk)


def _taken(seed: Seed) -> Conflict:
    """Who has it now, or what became of it."""
    if seed.status == Status.CLAIMED:
        who = seed.claimed_by.get_full_name() or seed.claimed_by.get_username()  # type: ignore[union-attr]
        return Conflict(_("%(who)s claimed this idea already.") % {"who": who}, code="claimed")
    words = seed.get_status_display()
    return Conflict(_("This idea is no longer open: it is %(status)s.") % {"status": words}, code="not_open")


@transaction.atomic
def claim_seed(seed: Seed, *, actor: User) -> Seed:
    """Take an open idea for oneself. Of two who claim it at once one gets it, and the other is told who."""
    seed = _locked(seed)
    may_create_item(actor, seed.benchmark).require()
    if seed.status == Status.CLAIMED and seed.claimed_by_id == actor.pk:
        return seed
    if seed.status != Status.OPEN:
        raise _taken(seed)
    _set(seed, Status.CLAIMED, actor, "seed.claimed", claimed_by=actor, claimed=timezone.now())
    return seed


@transaction.atomic
def give_back_seed(seed: Seed, *, actor: User) -> Seed:
    """Open an idea that one had claimed again; the core team may do it for others."""
    seed = _locked(seed)
    if seed.status != Status.CLAIMED:
        raise _taken(seed)
    if seed.claimed_by_id != actor.pk:
        may_drop_seed(actor, seed).require()
    _set(seed, Status.OPEN, actor, "seed.given_back", claimed_by=None, claimed=None)
    return seed


@transaction.atomic
def drop_seed(seed: Seed, reason: str, *, actor: User) -> Seed:
    """Set an idea aside for good, with the reason: who had it, or the core team."""
    seed = _locked(seed)
    may_drop_seed(actor, seed).require()
    if seed.status not in (Status.OPEN, Status.CLAIMED):
        raise _taken(seed)
    if seed.status == Status.CLAIMED and seed.claimed_by_id != actor.pk and seed.author_id == actor.pk:
        raise _taken(seed)
    reason = " ".join(reason.split())
    if not reason or len(reason) > 300:
        raise Invalid.at("reason", _("Say why, in at most 300 characters."), code="bad_reason")
    _set(seed, Status.DROPPED, actor, "seed.dropped", reason=reason)
    return seed


@transaction.atomic
def start_item(seed: Seed, *, actor: User) -> Item:
    """A draft from an idea: its category, its notes as the design, its starting point as the first source."""
    seed = _locked(seed)
    if seed.status != Status.OPEN and not (seed.status == Status.CLAIMED and seed.claimed_by_id == actor.pk):
        raise _taken(seed)
    benchmark = seed.benchmark
    document = replace(empty_document(str(uuid4()), benchmark.language), canary=benchmark.canary)
    design = f"{seed.title}\n\n{seed.body}".strip() + "\n"
    document = document.with_section("design", {"design": design})
    if seed.category:
        document = document.with_section("metadata", document.section("metadata") | {"category": seed.category})
    if seed.url:
        source = {"key": "s1", "url": seed.url, "kind": detect_kind(seed.url)}
        document = document.with_section("sources", {"sources": [source]})
    item = create_item(benchmark, actor=actor, document=document)
    _set(seed, Status.USED, actor, "seed.started", item=item, claimed_by=actor, claimed=seed.claimed or timezone.now())
    return item


def _set(seed: Seed, status: str, actor: User, kind: str, **columns: object) -> None:
    seed.status = status
    for name, value in columns.items():
        setattr(seed, name, value)
    seed.save(update_fields=["status", *columns])
    data = {"seed": seed.pk, "title": seed.title, "reason": seed.reason}
    ItemEvent.objects.create(benchmark=seed.benchmark, item=seed.item, actor=actor, kind=kind, data=data)
