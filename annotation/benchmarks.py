"""Benchmarks and roles: the face of this app for the others."""

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import Http404

from lhdr_site.shared.prepared import Prepared
from lhdr_site.shared.results import Allowed, Answer, Denied

from .gates import judged_blind
from .models import Benchmark, Item, Membership, StoredImage
from .notice_actions import tell_of_end, withdraw_end
from .notices import ENDS
from .states import Role

__all__ = [
    "ENDS",
    "Benchmark",
    "Item",
    "Membership",
    "Role",
    "Stored",
    "TakenDown",
    "get_benchmark_for",
    "get_item_for",
    "image_bytes",
    "may_act_as",
    "my_benchmarks",
    "role_of",
    "stored_images",
    "taken_down",
    "tell_of_end",
    "withdraw_end",
]


class TakenDown(LookupError):
    """An image whose bytes were taken away for good; says why."""


def taken_down(benchmark_pk: int, hashes: Collection[str]) -> dict[str, str]:
    """SHA-256 -> the reason, of those of the hashes that were taken down."""
    rows = StoredImage.objects.filter(benchmark_id=benchmark_pk).exclude(tombstone="")
    return {sha256: reason for sha256, reason in rows.values_list("sha256", "tombstone") if sha256 in hashes}


class Stored(NamedTuple):
    size: int  # bytes, as stored
    tombstone: str  # why it was taken down; "" while it is there


def stored_images(benchmark_pk: int) -> dict[str, Stored]:
    """SHA-256 -> what is known of the image without reading it."""
    rows = StoredImage.objects.filter(benchmark_id=benchmark_pk).values_list("sha256", "size", "tombstone")
    return {sha256: Stored(size, tombstone) for sha256, size, tombstone in rows.iterator()}


ROLE_NAMES = {
    Role.ANNOTATOR: "an annotator",
    Role.AUDITOR: "an auditor",
    Role.CORE: "core team",
    Role.ADMIN: "an admin",
}


def my_benchmarks(user: Any) -> QuerySet[Benchmark]:
    return Benchmark.objects.filter(memberships__user=user)


def get_benchmark_for(user: Any, slug: str) -> Benchmark:
    """The benchmark, for a member. Raises Http404 for everybody else: no trace of it."""
    benchmark = my_benchmarks(user).filter(slug=slug).first()
    if benchmark is None:
        raise Http404
    return benchmark


def _item(user: int, slug: str, number: int) -> QuerySet[Item]:
    items = Item.objects.select_related("benchmark", "author", "auditor", "seed")
    items = items.annotate(**judged_blind(SimpleNamespace(pk=user)))
    return items.filter(benchmark__slug=slug, benchmark__memberships__user_id=user, number=number)


_ITEM = Prepared(_item, "user", "slug", "number", texts=["slug"])
_ITEM_WITHOUT_DOCUMENT = Prepared(
    lambda *values: _item(*values).defer("document", "findings"), "user", "slug", "number", texts=["slug"]
)


def get_item_for(user: Any, slug: str, number: int, *, with_document: bool = True) -> Item:
    """The item with its benchmark, for a member. Raises Http404 for everybody else."""
    if number >= 2**31:  # more than the column can hold, and than a database may be asked for
        raise Http404
    prepared = _ITEM if with_document else _ITEM_WITHOUT_DOCUMENT
    found: list[Item] = prepared.objects(user=user.pk, slug=slug, number=number)
    if not found:
        raise Http404
    return found[0]


def _membership(user: int, benchmark: int) -> Any:
    return Membership.objects.filter(user_id=user, benchmark_id=benchmark, user__is_active=True).values("role")


_MEMBERSHIP = Prepared(_membership, "user", "benchmark")  # every page and every write asks for it


def role_of(user: Any, benchmark: Benchmark) -> Role | None:
    found = _MEMBERSHIP.get(user=user.pk, benchmark=benchmark.pk)
    return Role(found["role"]) if found else None


def may_act_as(user: Any, benchmark: Benchmark, needed: Role) -> Answer:
    """Allowed for members whose role is `needed` or includes it."""
    role = role_of(user, benchmark)
    if role is None:
        return Denied("You are not a member of this benchmark.")
    if role < needed:
        above = "" if needed == max(Role) else " or above"
        return Denied(f"This needs the role of {ROLE_NAMES[needed]}{above}; you are {ROLE_NAMES[role]}.")
    return Allowed()


def image_bytes(benchmark_pk: int, sha256: str) -> bytes:
    """The bytes of a stored image, as stored. Raises LookupError when there is none, TakenDown when it was redacted."""
    image = StoredImage.objects.filter(benchmark_id=benchmark_pk, sha256=sha256).only("file", "tombstone").first()
    if image is None:
        raise LookupError(f"no image {sha256[:12]}… is stored")
    if image.tombstone:
        raise TakenDown(f"image {sha256[:12]}… was taken down: {image.tombstone}")
    try:
        with image.file.open("rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise LookupError(f"the file of image {sha256[:12]}… is missing") from error
