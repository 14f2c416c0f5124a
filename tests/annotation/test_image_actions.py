"""Images changed one by one: replaced, turned, marked, ordered, removed; never against others."""

import io
from typing import Any

import pytest
from PIL import Image

from annotation import image_actions
from annotation.image_queries import image_hash
from annotation.models import Item, ItemImage, Revision, StoredImage
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.factories import Team

RECT = {"x": 1000, "y": 2000, "width": 3000, "height": 500, "note": "the clock"}


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 24)) -> bytes:
    """Red at the left, blue elsewhere, a green corner at the upper right."""
    image = Image.new("RGB", size, "blue")
    image.paste("red", (0, 0, size[0] // 4, size[1]))
    image.paste("lime", (size[0] - 8, 0, size[0], 8))
    out = io.BytesIO()
    image.save(out, kind, **({"quality": 95} if kind == "JPEG" else {"lossless": True} if kind == "WEBP" else {}))
    return out.getvalue()


def with_picture(team: Team, data: bytes | None = None) -> tuple[Item, str]:
    """An item with a stored picture beside its two; the key of that picture."""
    item, report = image_actions.add_images(team.item(), [("a.png", data or picture())], actor=team.ann)
    return item, report[0]["key"]


def image_of(item: Item, key: str) -> dict[str, Any]:
    return next(image for image in item.document["images"] if image["key"] == key)


def base_of(item: Item, key: str) -> str:
    return image_hash(image_of(item, key))


def pixels(item: Item, key: str) -> Image.Image:
    with StoredImage.objects.get(sha256=image_of(item, key)["sha256"]).file.open("rb") as file:
        return Image.open(io.BytesIO(file.read())).convert("RGB")


def refer(item: Item, team: Team, target: str, step: int = 0) -> Item:
    """The item with a step that refers to an image or region too."""
    from annotation import actions
    from annotation.document import read_document

    content = read_document(item.document).section("checklist")
    content["checklist"][step]["images"].append(target)
    return actions.save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)


def test_add_images_makes_one_revision_and_reports_each_file(team: Team) -> None:
    item = team.item()
    files = [("a.png", picture()), ("b.txt", b"hello"), ("c.png", picture(size=(30, 30)))]
    item, report = image_actions.add_images(item, files, actor=team.ann)
    assert [(r["file"], r.get("key")) for r in report] == [("a.png", "i3"), ("b.txt", None), ("c.png", "i4")]
    assert report[1]["error"].startswith("b.txt: ")
    assert item.revision_number == 2
    assert sorted(ItemImage.objects.filter(item=item).values_list("key", flat=True)) == ["i1", "i2", "i3", "i4"]


def test_add_images_of_none_that_is_good_writes_nothing(team: Team) -> None:
    item, report = image_actions.add_images(team.item(), [("b.txt", b"hello")], actor=team.ann)
    assert "error" in report[0] and item.revision_number == 1


def test_replace_keeps_key_texts_and_regions(team: Team) -> None:
    item, key = with_picture(team)
    item = image_actions.save_region(item, key, RECT, base_of(item, key), actor=team.ann)
    old = image_of(item, key)
    data = picture("JPEG", (60, 60))
    item = image_actions.replace_image(item, key, data, "b.jpg", base_of(item, key), actor=team.ann)
    new = image_of(item, key)
    assert new["sha256"] != old["sha256"] and (new["media_type"], new["width"]) == ("image/jpeg", 60)
    assert {k: new[k] for k in ("key", "alt", "regions", "role")} == {
        k: old[k] for k in ("key", "alt", "regions", "role")
    }
    assert StoredImage.objects.filter(sha256=old["sha256"]).exists()


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG"])
@pytest.mark.parametrize(("turns", "upper_left"), [(1, "red"), (-1, "lime"), (2, "blue")])
def test_rotate_turns_pixels_and_regions(team: Team, kind: str, turns: int, upper_left: str) -> None:
    # Clockwise, the red left edge comes to the top; the other way round, the green corner comes to the upper left.
    item, key = with_picture(team, picture(kind))
    item = image_actions.save_region(item, key, RECT, base_of(item, key), actor=team.ann)
    before = pixels(item, key)
    item = image_actions.rotate_image(item, key, turns, base_of(item, key), actor=team.ann)
    after = pixels(item, key)
    expected = {
        # top left corner after: x' = 10000 - y - height, y' = x for a turn clockwise
        1: {"x": 7500, "y": 1000, "width": 500, "height": 3000},
        -1: {"x": 2000, "y": 6000, "width": 500, "height": 3000},
        2: {"x": 6000, "y": 7500, "width": 3000, "height": 500},
    }[turns]
    (region,) = image_of(item, key)["regions"]
    assert {name: region[name] for name in expected} == expected
    image = image_of(item, key)
    assert (image["width"], image["height"]) == after.size == (before.size if turns == 2 else before.size[::-1])
    corner = after.getpixel((2, 2))
    wanted = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255)}[upper_left]
    assert max(abs(a - b) for a, b in zip(corner, wanted, strict=True)) < (24 if kind == "JPEG" else 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_four_turns_of_a_lossless_picture_change_no_pixel(team: Team, kind: str) -> None:
    item, key = with_picture(team, picture(kind))
    before = pixels(item, key)
    for _turn in range(4):
        item = image_actions.rotate_image(item, key, 1, base_of(item, key), actor=team.ann)
    assert pixels(item, key).tobytes() == before.tobytes()


def test_rotate_of_an_image_that_is_not_stored_says_so(team: Team) -> None:
    item = team.item()
    with pytest.raises(Invalid, match="not stored here"):
        image_actions.rotate_image(item, "i1", 1, base_of(item, "i1"), actor=team.ann)


def test_old_revision_still_shows_what_it_showed(team: Team) -> None:
    item, key = with_picture(team)
    old = image_of(item, key)["sha256"]
    item = image_actions.rotate_image(item, key, 1, base_of(item, key), actor=team.ann)
    revision = Revision.objects.get(item=item, number=2)
    assert old in [image["sha256"] for image in revision.document["images"]]
    assert StoredImage.objects.get(sha256=old).file.open("rb").read()


def test_save_region_adds_then_changes_it(team: Team) -> None:
    item = team.item()
    item = image_actions.save_region(item, "i1", RECT, base_of(item, "i1"), actor=team.ann)
    assert image_of(item, "i1")["regions"] == [{"key": "g1", "extra": {}, **RECT}]
    item = image_actions.save_region(item, "i2", RECT, base_of(item, "i2"), actor=team.ann)
    assert image_of(item, "i2")["regions"][0]["key"] == "g2"
    changed = {**RECT, "key": "g1", "x": 5, "note": "the hand"}
    item = image_actions.save_region(item, "i1", changed, base_of(item, "i1"), actor=team.ann)
    assert image_of(item, "i1")["regions"] == [{"extra": {}, **changed}]


@pytest.mark.parametrize(
    "wrong", [{"x": -1}, {"width": 0}, {"width": 9500}, {"y": 10_001}, {"height": True}, {"x": "5"}, {"key": "g9"}]
)
def test_save_region_outside_or_unknown_is_invalid(team: Team, wrong: dict[str, Any]) -> None:
    item = team.item()
    with pytest.raises(Invalid):
        image_actions.save_region(item, "i1", {**RECT, **wrong}, base_of(item, "i1"), actor=team.ann)
    assert Item.objects.get(pk=item.pk).revision_number == 1


def test_region_that_a_step_refers_to_is_not_removed_unless_it_is_unlinked(team: Team) -> None:
    item = team.item()
    item = image_actions.save_region(item, "i1", RECT, base_of(item, "i1"), actor=team.ann)
    item = refer(item, team, "g1")
    step = item.document["checklist"][0]["key"]
    with pytest.raises(Invalid) as caught:
        image_actions.remove_image(item, "g1", base_of(item, "i1"), actor=team.ann)
    assert caught.value.code == "still_referred_to" and caught.value.details["referrers"] == [step]
    item = image_actions.remove_image(item, "g1", base_of(item, "i1"), actor=team.ann, unlink_from=[step])
    assert image_of(item, "i1")["regions"] == [] and "g1" not in item.document["checklist"][0]["images"]


def test_image_with_a_region_that_a_step_refers_to_is_refused_in_any_form_of_removal(team: Team) -> None:
    from annotation import actions
    from annotation.document import read_document

    item, key = with_picture(team)
    item = image_actions.save_region(item, key, RECT, base_of(item, key), actor=team.ann)
    item = refer(item, team, "g1")
    step = item.document["checklist"][0]["key"]
    with pytest.raises(Invalid, match="g1 cannot be removed"):
        image_actions.remove_image(item, key, base_of(item, key), actor=team.ann)
    content = read_document(item.document).section("images")
    content["images"].pop()
    with pytest.raises(Invalid, match="g1 cannot be removed"):
        actions.save_section(item, "images", content, item.section_hashes["images"], actor=team.ann)
    item = actions.save_section(
        item, "images", content, item.section_hashes["images"], actor=team.ann, unlink_removed="lose"
    )
    assert "g1" not in item.document["checklist"][0]["images"]
    assert step and [image["key"] for image in item.document["images"]] == ["i1", "i2"]


def test_order_takes_all_keys_once(team: Team) -> None:
    item = team.item()
    item = image_actions.order_images(item, ["i2", "i1"], actor=team.ann)
    assert [image["key"] for image in item.document["images"]] == ["i2", "i1"]
    for keys in (["i1"], ["i1", "i2", "i2"], ["i1", "i9"]):
        with pytest.raises(Conflict):
            image_actions.order_images(item, keys, actor=team.ann)


def test_change_of_an_image_that_somebody_changed_is_a_conflict(team: Team) -> None:
    item = team.item()
    base = base_of(item, "i1")
    item = image_actions.save_region(item, "i1", RECT, base, actor=team.ann)
    for change in (
        lambda: image_actions.save_region(item, "i1", RECT, base, actor=team.ann),
        lambda: image_actions.remove_image(item, "i1", base, actor=team.ann),
        lambda: image_actions.rotate_image(item, "i1", 1, base, actor=team.ann),
        lambda: image_actions.replace_image(item, "i1", picture(), "a.png", base, actor=team.ann),
        lambda: image_actions.remove_image(item, "i77", base, actor=team.ann),
    ):
        with pytest.raises(Conflict):
            change()
    assert Item.objects.get(pk=item.pk).revision_number == 2


@pytest.mark.parametrize("who", ["ann2", "aud", "stranger"])
def test_changes_by_others_are_refused(team: Team, who: str) -> None:
    item, person = team.item(), getattr(team, who)
    base = base_of(item, "i1")
    for change in (
        lambda: image_actions.save_region(item, "i1", RECT, base, actor=person),
        lambda: image_actions.remove_image(item, "i1", base, actor=person),
        lambda: image_actions.rotate_image(item, "i1", 1, base, actor=person),
        lambda: image_actions.replace_image(item, "i1", picture(), "a.png", base, actor=person),
        lambda: image_actions.order_images(item, ["i2", "i1"], actor=person),
        lambda: image_actions.add_images(item, [("a.png", picture())], actor=person),
    ):
        with pytest.raises(NotAllowed):
            change()
    assert item.revisions.count() == 1
