"""Reads about the images of an item: how the page shows them, and where else in the benchmark the same ones stand."""

import json
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Q

from lhdr_site.shared.pictures import NEAR, distance, near_bands

from .document import Document, Image, Region, canonical_hash, images_of_pictures, links
from .models import ImageFetch, Item, ItemImage, StoredImage

_IMAGES_AT_ONCE: Final = 20  # per query: each asks for 548 values
_TWINS_AT_MOST: Final = 500


def image_hash(image: Mapping[str, Any]) -> str:
    """What a change to one image names as what it was based on. `image` is plain JSON."""
    return canonical_hash(image)


@dataclass(frozen=True, slots=True)
class Twin:
    """Another place where a picture stands: in this item (number 0) or another.

    distance: None for the very same bytes, else in how many of 64 bits the two look different.
    """

    number: int
    key: str
    distance: int | None


@dataclass(frozen=True)
class ShownImage:
    """An image of the document with what the page says about it."""

    image: Image
    stored: StoredImage | None
    base: str  # what a change to it names
    referrers: Mapping[str, list[str]]  # its key and those of its regions -> who refers to them
    twins: list[Twin] = field(default_factory=list)
    fetch: ImageFetch | None = None  # when somebody asked for its address to be fetched

    def __getattr__(self, name: str) -> Any:
        return getattr(self.image, name)

    @property
    def all_referrers(self) -> list[str]:
        return list(dict.fromkeys(key for keys in self.referrers.values() for key in keys))

    @property
    def more_twins(self) -> int:
        return len(self.twins) - 4

    @property
    def regions_json(self) -> str:
        return regions_json(self.image, self.referrers)


@dataclass(frozen=True, slots=True)
class Part:
    """What a step names as evidence: an image (region None) or a region of it; `is_stored` tells if it can be shown."""

    key: str
    image: Image
    region: Region | None
    is_stored: bool

    @property
    def label(self) -> str:
        """What it shows, in words."""
        said = (self.region.note if self.region else "") or self.image.alt
        return f"{self.key}: {said}" if said else self.key


def regions_json(image: Image, referrers: Mapping[str, list[str]] | None = None) -> str:
    """An image's regions as the viewer draws them, with who refers to each."""
    return json.dumps(
        [
            {name: getattr(region, name) for name in ("key", "x", "y", "width", "height", "note")}
            | {"referrers": (referrers or {}).get(region.key, [])}
            for region in image.regions
        ]
    )


def parts_of(document: Document, stored: Container[str]) -> dict[str, Part]:
    """Key -> picture or part of one. `stored`: hashes of what is in store."""
    found = images_of_pictures(document).items()
    return {key: Part(key, image, region, image.sha256 in stored) for key, (image, region) in found}


def shown_images(item: Item, document: Document, stored: Mapping[str, StoredImage]) -> list[ShownImage]:
    """The document's images in order. At most three queries more, and one for each further 20 images."""
    referrers: dict[str, list[str]] = defaultdict(list)
    keys = images_of_pictures(document)
    for link in links(document):
        if link.target in keys:
            referrers[link.target].append(link.referrer)
    twins = twins_of(item, document, stored)
    unfetched = any(image.url and not image.sha256 for image in document.images)
    fetches = {fetch.key: fetch for fetch in item.image_fetches.all()} if unfetched else {}
    by_key = {image["key"]: image_hash(image) for image in document.section("images")["images"]}
    return [
        ShownImage(
            image,
            stored.get(image.sha256),
            by_key[image.key],
            {key: referrers[key] for key in (image.key, *(r.key for r in image.regions)) if key in referrers},
            twins.get(image.key, []),
            fetches.get(image.key) if not image.sha256 else None,
        )
        for image in document.images
    ]


def twins_of(item: Item, document: Document, stored: Mapping[str, StoredImage]) -> dict[str, list[Twin]]:
    """Key of an image -> where else the same picture, or nearly the same, stands; the nearest first."""
    named = [image for image in document.images if image.sha256]
    near = dict(_near([s for s in stored.values() if s.phash], item.benchmark_id))
    wanted = {image.sha256 for image in named} | set(near)
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    rows = ItemImage.objects.filter(sha256__in=wanted, item__benchmark=item.benchmark_id).exclude(item=item)
    for sha256, number, key in rows.order_by("item__number", "pk").values_list("sha256", "item__number", "key")[
        :_TWINS_AT_MOST
    ]:
        places[sha256].append((number, key))
    for image in named:
        places[image.sha256].insert(0, (0, image.key))
    result: dict[str, list[Twin]] = {}
    for image in named:
        own = stored.get(image.sha256)
        found = []
        for sha256, where in places.items():
            apart = None if sha256 == image.sha256 else _apart(own, near.get(sha256, ""))
            if sha256 == image.sha256 or apart is not None:
                found += [Twin(number, key, apart) for number, key in where if (number, key) != (0, image.key)]
        if found:
            result[image.key] = sorted(
                found, key=lambda twin: (-1 if twin.distance is None else twin.distance, twin.number)
            )
    return result


def _apart(own: StoredImage | None, phash: str) -> int | None:
    """The distance of two pictures when they are nearly the same."""
    if own is None or not own.phash or not phash:
        return None
    apart = distance(own.phash, phash)
    return apart if apart <= NEAR else None


def _near(images: list[StoredImage], benchmark_pk: int) -> Iterator[tuple[str, str]]:
    """(sha256, perceptual hash) of stored pictures that may be nearly the same as one of these, themselves too."""
    for start in range(0, len(images), _IMAGES_AT_ONCE):
        some = images[start : start + _IMAGES_AT_ONCE]
        values: list[set[int]] = [set(), set(), set(), set()]
        for image in some:
            for one, others in zip(values, near_bands(image.phash), strict=True):
                one.update(others)
        condition = Q()
        for number, band in enumerate(values):
            condition |= Q(**{f"band{number}__in": band})
        rows = StoredImage.objects.filter(condition, benchmark=benchmark_pk).values_list("sha256", "phash")
        hashes = [int(image.phash, 16) for image in some]
        for sha256, phash in rows:
            value = int(phash, 16)
            if any((value ^ own).bit_count() <= NEAR for own in hashes):
                yield sha256, phash
