"""What people do about links: have them checked, and say that they opened one. One transaction and one event each.

Raises NotAllowed (403), Conflict (409) and Invalid (422) with nothing written.
"""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.actions import locked_item, record_event
from annotation.benchmarks import Item
from lhdr_site.shared.errors import Conflict, Invalid

from .link_queries import url_hash
from .link_steps import write_jobs
from .models import LinkCheck, LinkJob
from .permissions import may_check_links, may_vouch_link


@transaction.atomic
def ask_checks(item: Item, sources: Collection[str] = (), *, actor: User) -> list[LinkJob]:
    """Have the worker ask for the URLs of an item, all or those of some sources.

    Of all, one that was asked for within a day is not asked for again; a named one is.
    """
    item = locked_item(item)
    may_check_links(actor, item).require()
    wanted = [s for s in item.document["sources"] if not sources or s["key"] in sources]
    if not wanted:
        raise Invalid.at("source", _("There is no such source in this item any more. Reload the page."))
    jobs = write_jobs(item, {s["key"]: s["url"] for s in wanted}, by=actor, anew=bool(sources))
    record_event(item, actor, "links.asked", sources=[s["key"] for s in wanted])
    return jobs


@transaction.atomic
def vouch_link(item: Item, source: str, seen: str, note: str, *, opens: bool = True, actor: User) -> LinkCheck:
    """A person's dated word on a URL: they opened it themselves, or found it dead, and what they saw.

    seen: hash of the URL as it stood on their page.
    """
    item = locked_item(item)
    may_vouch_link(actor, item).require()
    url = next((s["url"] for s in item.document["sources"] if s["key"] == source), None)
    if url is None or url_hash(url) != seen:
        raise Conflict(_("The source changed since you opened the page. Reload it and look again."), code="stale_link")
    note = " ".join(note.split())
    if not note or len(note) > 300:
        raise Invalid.at("note", _("Say what you saw, in up to 300 characters: others rely on it."))
    status = LinkCheck.Status.OK if opens else LinkCheck.Status.DEAD
    check = LinkCheck.objects.create(
        item=item, source=source, url=url, url_hash=seen, status=status, reason=note, by=actor
    )
    record_event(item, actor, "link.opened", source=source, url=url[:500], status=status, note=note)
    return check
