"""Writes to the images of an item, each on its own, without a form of the whole section.

Pictures are decoded before the transaction opens. What changes one image names the hash of that image as it was seen;
adding conflicts with nobody. Rules as in `actions`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from lhdr_site.shared.errors import Conflict, Invalid

from . import images
from .actions import drop_lost_links, invalid_document, locked_item, refuse_broken, write_document
from .benchmarks import image_bytes
from .document import Document, DocumentError, elements, links, read_document
from .image_queries import image_hash
from .models import Item, Revision
from .permissions import may_edit_item
from .queries import used_anchors

Images = list[dict[str, Any]]


def add_images(
    item: Item, files: Iterable[tuple[str, bytes]], *, actor: User, role: str = "evidence"
) -> tuple[Item, list[dict[str, str]]]:
    """Store uploads (name, bytes) and append those that are good, in one revision; each is taken whole or not at all.

    Returns the fresh item, and for each file, in order, {"file", "key"} or {"file", "error"}.
    """
    may_edit_item(actor, item).require()
    pictures: list[images.Picture | None] = []
    report: list[dict[str, str]] = []
    for name, data in files:
        try:
            pictures.append(images.prepare_upload(data, name))
            report.append({"file": name})
        except Invalid as error:
            pictures.append(None)
            report.append({"file": name, "error": error.message})
    if any(pictures):
        item = _append(item, pictures, report, actor=actor, role=role)
    return item, report


@transaction.atomic
def _append(
    item: Item, pictures: Sequence[images.Picture | None], report: list[dict[str, str]], *, actor: User, role: str
) -> Item:
    item = locked_item(item)
    may_edit_item(actor, item).require()
    document = read_document(item.document)
    content = document.section("images")["images"]
    taken = {element.key for _list, element in elements(document)} | used_anchors(item)
    for picture, entry in zip(pictures, report, strict=True):
        if picture is not None:
            entry["key"] = _fresh_key("i", taken)
            fields = images.document_fields(images.store(item.benchmark, picture))
            content.append({"key": entry["key"], "role": role, **fields})
    keys = [entry["key"] for entry in report if "key" in entry]
    _write(item, document, content, _("Added %(keys)s") % {"keys": ", ".join(keys)}, actor)
    return item


def _fresh_key(letter: str, taken: set[str]) -> str:
    """A key that nothing in the item has; it is taken from now on."""
    key = next(k for k in (f"{letter}{n}" for n in range(1, len(taken) + 2)) if k not in taken)
    taken.add(key)
    return key


def replace_image(item: Item, key: str, data: bytes, name: str, base: str, *, actor: User) -> Item:
    """Another picture under the same key, with the same texts and regions."""
    may_edit_item(actor, item).require()
    picture = images.prepare_upload(data, name)

    def change(image: dict[str, Any], item: Item) -> str:
        image |= images.document_fields(images.store(item.benchmark, picture))
        return _("Replaced the picture of %s") % key

    return _change_image(item, key, base, change, actor=actor)


def rotate_image(item: Item, key: str, turns: int, base: str, *, actor: User) -> Item:
    """Turn a stored picture clockwise by quarter turns (-1, 1 or 2), its regions with it."""
    may_edit_item(actor, item).require()
    if turns not in (-1, 1, 2):
        raise Invalid.at("turns", _("Turn by -1, 1 or 2 quarters."))
    seen = _owner(item.document["images"], key, base)
    try:
        picture = images.turn(image_bytes(item.benchmark_id, seen["sha256"]), turns)
    except LookupError as error:
        raise Invalid.at("image", _("%s is not stored here; fetch or replace it first.") % key) from error

    def change(image: dict[str, Any], item: Item) -> str:
        image |= images.document_fields(images.store(item.benchmark, picture))
        for region in image["regions"]:
            region |= _turned(region, turns)
        return _("Turned %s") % key

    return _change_image(item, key, base, change, actor=actor)


def _turned(region: Mapping[str, int], turns: int) -> dict[str, int]:
    """The rectangle of a region after the picture was turned clockwise by quarter turns."""
    x, y, width, height = (region[name] for name in ("x", "y", "width", "height"))
    for _turn in range(turns % 4):
        x, y, width, height = max(0, 10_000 - y - height), x, height, width
    return {"x": x, "y": y, "width": width, "height": height}


def save_region(item: Item, key: str, region: Mapping[str, Any], base: str, *, actor: User) -> Item:
    """Add a region to an image, or change the one whose `key` it names. Fields: x, y, width, height, note."""
    problems = [
        {"path": name, "message": _("must be a whole number from %(low)d to %(high)d") % {"low": low, "high": 10_000}}
        for name, low in (("x", 0), ("y", 0), ("width", 1), ("height", 1))
        if isinstance(region.get(name), bool)
        or not isinstance(region.get(name), int)
        or not low <= region[name] <= 10_000
    ]
    if problems:
        raise Invalid.of(problems)
    if region["x"] + region["width"] > 10_000 or region["y"] + region["height"] > 10_000:
        raise Invalid.at("region", _("The rectangle leaves the picture; draw it inside."), code="region_outside")
    fields = {name: region[name] for name in ("x", "y", "width", "height")} | {"note": region.get("note", "")}

    def change(image: dict[str, Any], item: Item) -> str:
        wanted = region.get("key", "")
        if not wanted:
            taken = {element.key for _list, element in elements(read_document(item.document))}
            wanted = _fresh_key("g", taken | used_anchors(item))
            image["regions"].append({"key": wanted, **fields})
            return _("Marked %(region)s on %(key)s") % {"region": wanted, "key": key}
        found = next((r for r in image["regions"] if r["key"] == wanted), None)
        if found is None:
            raise Invalid.at("key", _("%(key)s has no region %(region)s.") % {"key": key, "region": wanted})
        found |= fields
        return _("Changed %(region)s on %(key)s") % {"region": wanted, "key": key}

    return _change_image(item, key, base, change, actor=actor)


@transaction.atomic
def order_images(item: Item, keys: Sequence[str], *, actor: User) -> Item:
    """Put the images into this order; all of them must be named."""
    item = locked_item(item)
    may_edit_item(actor, item).require()
    document = read_document(item.document)
    by_key = {image["key"]: image for image in document.section("images")["images"]}
    if sorted(keys) != sorted(by_key):
        raise Conflict(_("The images changed meanwhile. Look at them as they are now and order them again."))
    _write(item, document, [by_key[key] for key in keys], _("Ordered the images"), actor)
    return item


@transaction.atomic
def remove_image(item: Item, key: str, base: str, *, actor: User, unlink_from: Collection[str] = ()) -> Item:
    """Take out an image or a region. base: hash of the image, or of the one that the region is on.

    unlink_from: who may lose the link to it; refused when anything else refers to it or to one of its regions.
    """
    item = locked_item(item)
    may_edit_item(actor, item).require()
    document = read_document(item.document)
    content = document.section("images")["images"]
    owner = _owner(content, key, base)
    if owner["key"] == key:
        content.remove(owner)
    else:
        owner["regions"] = [region for region in owner["regions"] if region["key"] != key]
    gone = {key, *(region["key"] for region in owner["regions"])} if owner["key"] == key else {key}
    changed = document.with_section("images", {"images": content})
    if {link.referrer for link in links(document) if link.target in gone} <= set(unlink_from):
        changed = drop_lost_links(document, changed, inherit=False)
    refuse_broken(changed, before=document)
    _write_changed(item, changed, _("Removed %s") % key, actor)
    return item


def _owner(content: Images, key: str, base: str) -> dict[str, Any]:
    """The image of that key, or that the region of that key is on, if it is still what was seen."""
    for image in content:
        if key in (image["key"], *(region["key"] for region in image["regions"])):
            if image_hash(image) != base:
                text = _("Somebody changed %s since you opened it. Look at it as it is now, then do it again.")
                raise Conflict(text % image["key"], code="image_changed")
            return image
    raise Conflict(_("%s is no image of this item any more.") % key[:60], code="image_gone")


@transaction.atomic
def _change_image(
    item: Item, key: str, base: str, change: Callable[[dict[str, Any], Item], str], *, actor: User
) -> Item:
    """Apply `change` to one image; it returns what it did, for the history."""
    item = locked_item(item)
    may_edit_item(actor, item).require()
    document = read_document(item.document)
    content = document.section("images")["images"]
    image = _owner(content, key, base)
    if image["key"] != key:
        raise Invalid.at("key", _("%s is a region; name its image.") % key)
    _write(item, document, content, change(image, item), actor)
    return item


def _write(item: Item, document: Document, content: Images, message: str, actor: User) -> None:
    try:
        changed = document.with_section("images", {"images": content})
    except DocumentError as error:
        raise invalid_document(error) from error
    _write_changed(item, changed, message, actor)


def _write_changed(item: Item, changed: Document, message: str, actor: User) -> None:
    if changed.hash != item.document_hash:
        write_document(item, changed, actor=actor, kind=Revision.Kind.EDIT, section="images", message=message)
