"""The images of an item in a real browser: many files at once, order, viewer, regions, turning, fetching."""

import io
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from annotation import fetching, image_actions
from annotation.models import Item
from lhdr_site.shared.address_guard import read_allowed
from tests.annotation.test_fetching import Pictures
from tests.browser.test_workbench import until
from tests.documents import good_document
from tests.factories import Team


def picture(text: str, color: str, size: tuple[int, int] = (900, 600)) -> bytes:
    image = Image.new("RGB", size, color)
    draw = ImageDraw.Draw(image)
    draw.ellipse((100, 100, 400, 400), fill="white")
    draw.text((150, 200), text, fill="black", font_size=90)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def files(*named: tuple[str, bytes]) -> Any:
    return [{"name": name, "mimeType": "image/png", "buffer": data} for name, data in named]


def keys_of(item: Item) -> list[str]:
    return [image["key"] for image in Item.objects.get(pk=item.pk).document["images"]]


def image_of(item: Item, key: str) -> dict[str, Any]:
    return next(i for i in Item.objects.get(pk=item.pk).document["images"] if i["key"] == key)


def drop_or_paste(page: Page, kind: str, data: bytes, name: str) -> None:
    """A file dropped on the zone, or pasted from the clipboard."""
    page.evaluate(
        """([kind, bytes, name]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
            const zone = document.querySelector("[data-upload] .wb-drop");
            zone.dispatchEvent(kind === "drop"
                ? new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true })
                : new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
        }""",
        [kind, list(data), name],
    )


def test_files_go_up_together_each_with_its_word_and_change_places(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(f"/b/bench/items/{item.number}/")
    page.set_input_files(
        "#add-images",
        files(("one.png", picture("one", "teal")), ("bad.png", b"no"), ("two.png", picture("two", "tan"))),
    )
    said = page.locator("[data-files] li")
    expect(said).to_contain_text(["one.png", "bad.png", "two.png"])
    expect(said.nth(0)).to_contain_text("kept as i3")
    expect(said.nth(1)).to_contain_text("This is not a PNG")
    expect(said.nth(2)).to_contain_text("kept as i4")
    assert Item.objects.get(pk=item.pk).revision_number == 2  # one for all files
    drop_or_paste(page, "drop", picture("three", "olive", (300, 300)), "three.png")
    expect(page.locator("#image-i5 img")).to_be_visible()
    drop_or_paste(page, "paste", picture("one", "teal"), "again.png")
    expect(page.locator("#image-i6")).to_contain_text("The same picture stands in i3.")
    # by keys, then by the mouse
    page.focus("#image-i6 a[data-zoom]")
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator("[data-image]").nth(4)).to_have_attribute("data-image", "i6")
    page.drag_and_drop("#image-i6 a[data-zoom]", "#image-i1", target_position={"x": 3, "y": 20})
    expect(page.locator("[data-image]").first).to_have_attribute("data-image", "i6")
    expect(page.locator("#count-history")).to_have_text("6")
    assert keys_of(item) == ["i6", "i1", "i2", "i3", "i4", "i5"]
    # another picture under the same key; then away with it
    page.click("#image-i6 .wb-menu summary")
    page.set_input_files("#image-i6 input[type=file]", files(("new.png", picture("new", "plum", (300, 500)))))
    expect(page.locator("#image-i6")).to_contain_text("300 × 500")
    page.click("#image-i6 .wb-menu summary")
    page.click("#image-i6 button:has-text('Remove')")
    page.click("#confirm [data-confirm-yes]")
    expect(page.locator("#image-i6")).to_have_count(0)
    assert keys_of(item) == ["i1", "i2", "i3", "i4", "i5"]
    # an image that a step refers to goes with its links, and says so before
    page.click("#image-i1 .wb-menu summary")
    page.click("#image-i1 button:has-text('Remove')")
    expect(page.locator("#confirm")).to_contain_text("c1")
    page.click("#confirm button:has-text('Cancel')")
    page.click("#image-i3 .wb-menu summary")
    assert visitor.axe() == []
    assert visitor.unexpected_errors() == []


def test_viewer_zooms_marks_and_turns(team: Team, visit: Any) -> None:
    document = good_document()
    item, _report = image_actions.add_images(
        team.item(document),
        [("a.png", picture("a", "teal")), ("b.png", picture("b", "tan", (1600, 2400)))],
        actor=team.ann,
    )
    visitor = visit(team.ann)
    page = visitor.open(f"/b/bench/items/{item.number}/")
    page.click("#image-i3 a[data-zoom]")
    percent = page.locator("[data-zoom-percent]")
    expect(page.locator("#zoom[open]")).to_be_visible()
    expect(page.locator("[data-zoom-count]")).to_have_text("1 of 2")
    page.keyboard.press("j")
    expect(page.locator("[data-zoom-count]")).to_have_text("2 of 2")
    page.keyboard.press("1")
    expect(percent).to_have_text("100 %")
    transform = "document.querySelector('[data-zoom-canvas]').style.transform"
    before = page.evaluate(transform)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(transform) != before
    page.mouse.move(600, 500)
    page.mouse.wheel(0, -200)
    expect(percent).not_to_have_text("100 %")
    before = page.evaluate(transform)
    page.mouse.down()
    page.mouse.move(640, 560, steps=4)
    page.mouse.up()
    assert page.evaluate(transform) != before
    page.keyboard.press("0")
    expect(page.locator("[data-view=fit]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("k")

    # a region by the mouse
    page.click("[data-view=mark]")
    box = page.locator("[data-zoom-canvas]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.1, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.7, steps=6)
    page.mouse.up()
    page.fill("#region-note", "The white disc")
    assert visitor.axe() == []
    page.click("text=Save region")
    expect(page.locator(".wb-region")).to_have_attribute("aria-label", "Region g1: The white disc")
    (region,) = image_of(item, "i3")["regions"]
    for name, value in {"x": 1000, "y": 2000, "width": 4000, "height": 5000}.items():
        assert abs(region[name] - value) < 80, (name, region)
    # and one by keys: arrows move it, Shift and arrows size it; Esc lets go of it
    page.locator("[data-zoom-stage]").focus()
    page.keyboard.press("m")
    for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator(".wb-region")).to_have_count(1)
    page.keyboard.press("m")
    for key in ("ArrowLeft", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.keyboard.type("By keys")
    page.keyboard.press("Enter")
    expect(page.locator(".wb-region").nth(1)).to_have_attribute("aria-label", "Region g2: By keys")
    second = image_of(item, "i3")["regions"][1]
    assert {n: second[n] for n in ("key", "x", "y", "width", "height", "note")} == {
        "key": "g2", "x": 3900, "y": 3900, "width": 2100, "height": 2100, "note": "By keys",
    }  # fmt: skip
    # turned, its regions with it
    page.click("[data-view=right]")
    until(page, "document.querySelector('[data-zoom-image]').naturalWidth === 600")
    turned = image_of(item, "i3")
    assert (turned["width"], turned["height"]) == (600, 900)
    assert (turned["regions"][1]["x"], turned["regions"][1]["y"]) == (10_000 - 3900 - 2100, 3900)
    # removed again
    page.locator(".wb-region").nth(1).click()
    page.click("[data-view=remove]")
    expect(page.locator(".wb-region")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#zoom[open]")).to_have_count(0)
    expect(page.locator("#region-g1 img")).to_be_visible()

    # a step refers to the region: its cut stands beside it, and opens the viewer there
    page.click("#checklist [data-edit]")
    page.fill("#f-checklist-1-images", "g1")
    page.click("#checklist button[type=submit].btn-primary")
    part = page.locator("#step-c1 .wb-part")
    expect(part).to_be_visible()
    expect(part).to_have_attribute("data-zoom-region", "g1")
    part.click()
    expect(page.locator(".wb-region.is-meant")).to_have_attribute("aria-label", "Region g1: The white disc")
    page.locator(".wb-region").click()
    page.click("[data-view=remove]")
    expect(page.locator("#confirm")).to_contain_text("c1 refer to g1")
    page.click("#confirm [data-confirm-yes]")
    expect(page.locator(".wb-region")).to_have_count(0)
    assert Item.objects.get(pk=item.pk).document["checklist"][0]["images"] == []
    assert visitor.unexpected_errors() == []


def test_reader_sees_regions_and_changes_nothing(team: Team, visit: Any) -> None:
    item, _report = image_actions.add_images(team.item(), [("a.png", picture("a", "teal"))], actor=team.ann)
    from annotation.image_queries import image_hash

    rect = {"x": 1000, "y": 1000, "width": 3000, "height": 4000, "note": "The disc"}
    item = image_actions.save_region(item, "i3", rect, image_hash(image_of(item, "i3")), actor=team.ann)
    visitor = visit(team.aud, width=400, dark=True)
    page = visitor.open(f"/b/bench/items/{item.number}/")
    page.click("#region-g1 a")
    expect(page.locator(".wb-region")).to_have_attribute("aria-label", "Region g1: The disc")
    expect(page.locator("[data-view=mark]")).to_be_hidden()
    page.locator(".wb-region").click()
    expect(page.locator("#region-note")).to_have_value("The disc")
    expect(page.locator("text=Save region")).to_be_hidden()
    assert visitor.axe() == []
    assert visitor.unexpected_errors() == []


def test_address_is_fetched_by_the_worker_and_its_state_shown(team: Team, visit: Any, settings: Any) -> None:
    settings.FETCH_ALLOW = read_allowed(["127.0.0.1"])
    server = Pictures()
    base = f"http://127.0.0.1:{server.port}"
    images = [{"key": "i1", "url": f"{base}/30.png"}, {"key": "i2", "url": f"{base}/gone.png"}]
    item = team.item(good_document(id="fetched", images=images))
    visitor = visit(team.ann)
    page = visitor.open(f"/b/bench/items/{item.number}/")
    for key in ("i1", "i2"):
        page.click(f"#image-{key} button:has-text('Fetch it')")
        expect(page.locator(f"#image-{key}")).to_contain_text("waits to be fetched")
    for asked in item.image_fetches.all():
        fetching.fetch_image(asked.pk)
    expect(page.locator("#image-i1 img")).to_be_visible()
    expect(page.locator("#image-i2")).to_contain_text("Not fetched: The address answered 404")
    assert visitor.unexpected_errors() == []
    server.http.shutdown()
