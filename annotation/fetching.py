"""Images that are only known by their address: fetched through the address guard and stored like uploads.

The command, the page and the worker use it. Nothing is fetched while a transaction is open.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from lhdr_site.shared.address_guard import FetchError, fetch
from lhdr_site.shared.errors import DomainError, Invalid
from lhdr_site.shared.pictures import MEDIA_TYPES

from . import images, tasks
from .actions import locked_item, record_event, write_document
from .document import read_document
from .models import Benchmark, ImageFetch, Item, Revision
from .permissions import may_edit_item

# Servers name pictures in these ways; what came is looked at in any case.
TYPES = (*MEDIA_TYPES.values(), "image/jpg", "image/pjpeg", "application/octet-stream", "binary/octet-stream")
OVERDUE = timedelta(minutes=3)


@dataclass
class FetchOutcome:
    """What became of an item's images. `skipped` says why none was asked for."""

    number: int
    fetched: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # key -> reason
    skipped: str = ""


def fetch_picture(url: str) -> images.Picture:
    """The picture at an address, ready to store. Raises Invalid with the reason."""
    limit = settings.UPLOAD_MAX_MB * 1024 * 1024
    accept = {"Accept": "image/webp,image/png,image/jpeg,image/gif"}
    try:
        found = fetch(url, max_bytes=limit, whole=True, content_types=TYPES, allow=settings.FETCH_ALLOW, headers=accept)
    except FetchError as error:
        raise Invalid(str(error), code=error.code) from error
    if found.status != 200:
        raise Invalid(_("The address answered %s instead of a picture.") % found.status, code="bad_status")
    return images.prepare_upload(found.body)


@transaction.atomic
def store_fetched(item: Item, found: Mapping[str, tuple[str, images.Picture]], *, actor: User) -> list[str]:
    """Give images (key -> address and what it held) their pictures in one revision; returns the keys of those that did.

    An image that has another address or a picture by now stays as it is.
    """
    item = locked_item(item)
    may_edit_item(actor, item).require()
    document = read_document(item.document)
    content = document.section("images")["images"]
    keys = []
    for image in content:
        url, picture = found.get(image["key"], ("", None))
        if picture is not None and image["url"] == url and not image["sha256"]:
            image |= images.document_fields(images.store(item.benchmark, picture))
            keys.append(image["key"])
    if keys:
        message = _("Fetched %s") % ", ".join(keys)
        changed = document.with_section("images", {"images": content})
        write_document(item, changed, actor=actor, kind=Revision.Kind.EDIT, section="images", message=message)
    ImageFetch.objects.filter(item=item, key__in=keys).delete()
    return keys


def unfetched(item: Item) -> dict[str, str]:
    """Key -> address of each image that has one and no picture."""
    return {i["key"]: i["url"] for i in item.document["images"] if i["url"] and not i["sha256"]}


def fetch_items(benchmark: Benchmark, *, actor: User, numbers: list[int] | None = None) -> Iterator[FetchOutcome]:
    """Fetch what is missing, item by item, one revision each; what was fetched before is not asked for again."""
    items = Item.objects.filter(benchmark=benchmark, image_rows__sha256="").distinct()
    if numbers:
        items = items.filter(number__in=numbers)
    for pk in list(items.order_by("number").values_list("pk", flat=True)):
        item = Item.objects.select_related("benchmark").get(pk=pk)
        wanted = unfetched(item)
        if not wanted:
            continue
        outcome = FetchOutcome(item.number)
        answer = may_edit_item(actor, item)
        if not answer:
            outcome.skipped = str(getattr(answer, "reason", ""))
            yield outcome
            continue
        found = {}
        for key, url in wanted.items():
            try:
                found[key] = url, fetch_picture(url)
            except Invalid as error:
                outcome.failed[key] = f"{error.message} ({url})"
        try:
            outcome.fetched = store_fetched(item, found, actor=actor)
        except DomainError as error:  # locked meanwhile
            outcome.skipped = error.message
        yield outcome


# --- by the worker ------------------------------------------------------------------------------------------------


@transaction.atomic
def ask_fetch(item: Item, key: str, *, actor: User) -> Item:
    """Have the worker fetch the address of an image; asked again, it is tried again."""
    item = locked_item(item)
    may_edit_item(actor, item).require()
    url = unfetched(item).get(key)
    if url is None:
        raise Invalid(_("%s has no address to fetch, or is stored already.") % key[:60], code="nothing_to_fetch")
    values = {"url": url, "status": ImageFetch.Status.WAITING, "reason": "", "by": actor}
    asked, _created = ImageFetch.objects.update_or_create(item=item, key=key, defaults=values)
    record_event(item, actor, "image.fetch_asked", key=key, url=url[:500])
    tasks.fetch_later(asked.pk)
    return item


def fetch_image(fetch_pk: int) -> None:
    """Fetch what was asked for and store it, as the person who asked, or keep why not. Safe to run twice."""
    asked = ImageFetch.objects.select_related("item__benchmark", "by").filter(pk=fetch_pk).first()
    if asked is None or asked.status != ImageFetch.Status.WAITING:
        return
    try:
        store_fetched(asked.item, {asked.key: (asked.url, fetch_picture(asked.url))}, actor=asked.by)
    except DomainError as error:
        still = ImageFetch.objects.filter(pk=fetch_pk, url=asked.url, status=ImageFetch.Status.WAITING)
        still.update(status=ImageFetch.Status.FAILED, reason=error.message, asked=F("asked"))
    else:  # when the image changed meanwhile there is nothing to wait for any more
        ImageFetch.objects.filter(pk=fetch_pk, url=asked.url).delete()


def overdue_fetches(limit: int) -> list[int]:
    """What still waits although its message must have come, oldest first."""
    waiting = ImageFetch.objects.filter(status=ImageFetch.Status.WAITING, asked__lt=timezone.now() - OVERDUE)
    return list(waiting.order_by("asked").values_list("pk", flat=True)[:limit])
