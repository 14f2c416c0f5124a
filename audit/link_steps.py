"""Worker side of the link check, safe to run twice: whose turn a host is, asking it, keeping what came.

A host has one row. Who holds its lease asks it, one URL after the other with a pause; everybody else leaves it alone.
No transaction is open while a host is asked.
"""

import datetime as dt
import uuid
from time import monotonic, sleep
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from protego import Protego

from annotation.benchmarks import Benchmark, Item
from annotation.models import ItemEvent, ItemSource
from annotation.states import State

from . import linkcheck, tasks
from .link_queries import url_hash
from .linkcheck import Answer, host_of
from .models import LinkCheck, LinkHost, LinkJob
from .pagetext import NEAR, quote_score
from .plans import plan_of

RETRY_MINUTES: Final = (10, 60)  # after so long what may pass is tried again; then it is said as it is
FRESH: Final = dt.timedelta(days=1)  # so long a URL is not asked for again, whatever item names it
ROBOTS_FRESH: Final = dt.timedelta(days=1)
LEASE: Final = dt.timedelta(minutes=5)  # longer than the longest look
AT_ONCE: Final = 4  # hosts; the worker has other things to do
SECONDS: Final = 45  # a worker stays with one host
RECHECKED: Final = (State.FACTUAL_AUDIT, State.APPROVED, State.LOCKED)


# --- whose turn ---------------------------------------------------------------------------------------------------


def check_host(host: str) -> int:
    """Ask a host for what is due, as long as nobody else does. Returns how many URLs were dealt with."""
    owner = _take(host)
    if owner is None:
        return 0
    done = 0
    until = monotonic() + SECONDS
    try:
        while monotonic() < until and (job := due_jobs(host).first()) is not None:
            if not _deal_with(job, owner):
                break
            done += 1
    finally:
        LinkHost.objects.filter(host=host, owner=owner).update(owner=None, lease_until=None)
    for waiting in waiting_hosts(AT_ONCE):
        tasks.check_host_later(waiting)
    return done


def _take(host: str) -> uuid.UUID | None:
    now = timezone.now()
    row, _created = LinkHost.objects.get_or_create(host=host)
    if LinkHost.objects.filter(lease_until__gt=now).exclude(pk=row.pk).count() >= AT_ONCE:
        return None
    owner = uuid.uuid4()
    free = LinkHost.objects.filter(Q(lease_until=None) | Q(lease_until__lte=now), pk=row.pk)
    return owner if free.update(owner=owner, lease_until=now + LEASE) else None


def due_jobs(host: str) -> QuerySet[LinkJob]:
    return LinkJob.objects.filter(host=host, due__lte=timezone.now()).order_by("due", "pk")


def waiting_hosts(limit: int) -> list[str]:
    """Hosts with something due that nobody asks now, longest waiting first."""
    now = timezone.now()
    busy = LinkHost.objects.filter(host=OuterRef("host"), lease_until__gt=now)
    rows = LinkJob.objects.filter(~Exists(busy), due__lte=now).order_by("due").values_list("host", flat=True)
    return list(dict.fromkeys(rows[: limit * 200]))[:limit]


# --- what is to do ------------------------------------------------------------------------------------------------


def write_jobs(item: Item, urls: dict[str, str], *, by: User | None, anew: bool = False) -> list[LinkJob]:
    """What the worker is to do, in the caller's transaction; it is woken after the commit."""
    now = timezone.now()
    jobs = []
    for key, url in urls.items():
        values: dict[str, Any] = {"url": url, "url_hash": url_hash(url), "host": host_of(url), "anew": anew, "by": by}
        values |= {"due": now, "tries": 0, "note": ""}
        jobs.append(LinkJob.objects.update_or_create(item=item, source=key, defaults=values)[0])
    for host in {job.host for job in jobs}:
        tasks.check_host_later(host)
    return jobs


# --- one URL ------------------------------------------------------------------------------------------------------


def _deal_with(job: LinkJob, owner: uuid.UUID) -> bool:
    """Answer a job and all others of its URL. False when the host is somebody else's by now."""
    source = _source_of(job)
    if source is None or source["url"] != job.url:
        LinkJob.objects.filter(pk=job.pk, url=job.url).delete()  # the item changed meanwhile
        return True
    if not job.anew and (known := _known(job.url_hash, source["quote"])) is not None:
        keep_answer(job, known)
        return True
    mine = LinkHost.objects.filter(host=job.host, owner=owner)
    row = mine.first()
    if row is None:
        return False
    if row.free is not None:
        sleep(max(0.0, min((row.free - timezone.now()).total_seconds(), linkcheck.LONGEST_PAUSE)))
    answer = linkcheck.look_at(job.url, _rules)
    now = timezone.now()
    read = mine.values_list("robots", flat=True).first()
    free = now + dt.timedelta(seconds=linkcheck.pause_of(Protego.parse(read or "")))
    held = mine.update(free=free, lease_until=now + LEASE)
    for same in LinkJob.objects.filter(url_hash=job.url_hash, due__lte=now).order_by("pk"):
        keep_answer(same, answer)
    return bool(held)


def _rules(url: str) -> Protego | None:
    """The rules of a URL's host, which are read once a day; None when the host fails to say them."""
    now = timezone.now()
    row, _created = LinkHost.objects.get_or_create(host=host_of(url))
    if row.robots_read is None or row.robots_read <= now - ROBOTS_FRESH:
        robots = linkcheck.read_robots(url)
        if robots is None:
            return None
        row.robots = robots
        LinkHost.objects.filter(pk=row.pk).update(robots=robots, robots_read=now)
    return Protego.parse(row.robots)


def _source_of(job: LinkJob) -> dict[str, str] | None:
    sources = Item.objects.only("document").get(pk=job.item_id).document["sources"]
    return next((source for source in sources if source["key"] == job.source), None)


def _known(hashed: str, quote: str) -> Answer | None:
    """What the URL answered within a day, to any item; None where that does not tell whether the quote is in it."""
    row = LinkCheck.objects.filter(url_hash=hashed, by=None, created__gt=timezone.now() - FRESH).order_by("-pk").first()
    if row is None:
        return None
    cut = len(row.extract) >= linkcheck.EXTRACT
    if quote and cut and quote_score(quote, row.extract) != 100:
        return None
    same = ("status", "reason", "http_status", "final_url", "content_type", "title", "content_hash")
    values = {name: getattr(row, name) for name in same}
    return Answer(**values, redirects=tuple(row.redirects), text=row.extract)


@transaction.atomic
def keep_answer(job: LinkJob, answer: Answer) -> None:
    """The answer as the source's LinkCheck, or another try later; nothing where another worker did it."""
    held = LinkJob.objects.select_for_update().filter(pk=job.pk, url=job.url).first()
    if held is None:
        return
    if answer.passing and held.tries < len(RETRY_MINUTES):
        held.due = timezone.now() + dt.timedelta(minutes=RETRY_MINUTES[held.tries])
        held.tries += 1
        held.note = answer.reason[:300]
        held.save()
        return
    source = _source_of(job)
    score = quote_score(source["quote"], answer.text) if source else None
    if answer.cut and score is not None and score < NEAR:
        score = None  # it may stand in what was not read
    before = (
        LinkCheck.objects.filter(item_id=job.item_id, source=job.source, url=job.url, by=None).order_by("-pk").first()
    )
    told = before is not None and before.content_hash and answer.content_hash
    check = LinkCheck.objects.create(
        item_id=job.item_id,
        source=job.source,
        url=job.url,
        url_hash=job.url_hash,
        status=answer.status,
        reason=answer.reason[:300],
        http_status=answer.http_status,
        final_url=answer.final_url,
        redirects=list(answer.redirects),
        content_type=answer.content_type,
        title=answer.title,
        content_hash=answer.content_hash,
        extract=answer.text[: linkcheck.EXTRACT],
        quote_found=None if score is None else score >= NEAR,
        quote_score=score,
        changed=before.content_hash != answer.content_hash if before is not None and told else None,
        milliseconds=answer.milliseconds,
    )
    held.delete()
    dead = LinkCheck.Status.DEAD
    if check.status == dead and (before is None or before.status != dead):
        _tell(check, "link.died")
    elif check.changed:
        _tell(check, "link.changed")


def _tell(check: LinkCheck, kind: str) -> None:
    data = {"source": check.source, "url": check.url[:500], "reason": check.reason}
    benchmark = Item.objects.values_list("benchmark", flat=True).get(pk=check.item_id)
    ItemEvent.objects.create(benchmark_id=benchmark, item_id=check.item_id, kind=kind, data=data)


# --- again after a while ------------------------------------------------------------------------------------------


def ask_rechecks(benchmark: Benchmark, limit: int = 500) -> int:
    """Ask again for URLs of finished items whose last check is older than the plan says, locked items' too.

    What was never checked is not asked for by itself. Returns how many.
    """
    before = timezone.now() - dt.timedelta(days=plan_of(benchmark).recheck_days)
    checks = LinkCheck.objects.filter(item=OuterRef("item"), source=OuterRef("key"), url=OuterRef("url"), by=None)
    asked = LinkJob.objects.filter(item=OuterRef("item"), source=OuterRef("key"))
    rows = ItemSource.objects.filter(~Exists(asked), item__benchmark=benchmark, item__state__in=RECHECKED)
    rows = rows.annotate(last=Subquery(checks.order_by("-pk").values("created")[:1])).filter(last__lt=before)
    due = list(rows.order_by("item", "key").values_list("item", "key", "url")[:limit])
    for item in Item.objects.only("pk").filter(pk__in={pk for pk, _key, _url in due}):
        with transaction.atomic():
            write_jobs(item, {key: url for pk, key, url in due if pk == item.pk}, by=None)
    return len(due)
