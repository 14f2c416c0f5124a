"""The form of sources in a real browser: many addresses pasted, kinds that follow, captures, and the reuse radar."""

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.document import read_document
from annotation.models import Item
from tests.browser.test_workbench import address, edit, row, save
from tests.documents import good_document
from tests.factories import Team


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


def paste(page: Page, field: Any, text: str) -> None:
    field.evaluate(
        """(field, text) => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          field.focus();
          field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        text,
    )


PICTURE = """async (target, kind) => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 300, height: 200});
  canvas.getContext("2d").fillRect(20, 20, 100, 100);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const data = new DataTransfer();
  data.items.add(new File([blob], "shot.png", {type: "image/png"}));
  const options = {bubbles: true, cancelable: true};
"""
PASTE_PICTURE = PICTURE + 'target.dispatchEvent(new ClipboardEvent("paste", {...options, clipboardData: data})); }'
DROP_PICTURE = PICTURE + 'target.dispatchEvent(new DragEvent("drop", {...options, dataTransfer: data})); }'


def test_sources_pasted_judged_and_captured(team: Team, visit: Any) -> None:
    there = team.item(replace(good_document(), id="there"))
    item = team.item(replace(good_document(), id="mine"))
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    expect(page.locator("#source-s1")).to_contain_text(f"also in #{there.number}")
    edit(page, "sources")
    # looking changes nothing: the form is as it was saved
    expect(page.locator("#sources [data-looked] a").first).to_be_visible()
    expect(page.locator("#sources [data-save-state]")).to_have_attribute("data-state", "saved")

    page.click("[data-rows=sources] [data-add]")
    text = (
        "As [the bridge](https://en.wikipedia.org/wiki/Forth_Bridge_(film)) shows,\n"
        "The film\thttps://youtu.be/dQw4w9WgXcQ\n"
        "https://m.youtube.com/watch?v=dQw4w9WgXcQ&t=9\n"
        f"no address\n{good_document().sources[0].url}"
    )
    paste(page, row(page, "sources", 9).locator("[name$=-url]"), text)
    expect(page.locator("#toasts")).to_contain_text("4 sources added. 1 address stands twice in it. 1 line")
    bridge, film, again, known = (row(page, "sources", n) for n in (9, 10, 11, 12))
    expect(bridge.locator("[name$=-url]")).to_have_value("https://en.wikipedia.org/wiki/Forth_Bridge_(film)")
    expect(bridge.locator("[name$=-title]")).to_have_value("the bridge")
    expect(bridge.locator("[name$=-kind] option:checked")).to_have_text("auto: wikipedia")
    expect(film.locator("[name$=-title]")).to_have_value("The film")
    expect(again.locator("[data-looked]")).to_contain_text("Another place on the page of s10")
    expect(known.locator("[data-looked]")).to_contain_text("The same page as s1: remove one")
    expect(known.locator("[data-looked]")).to_contain_text(f"also in #{there.number}")

    # the kind follows the address until one is chosen
    known.locator("[name$=-url]").fill("https://example.org/report.pdf")
    expect(known.locator("[name$=-kind] option:checked")).to_have_text("auto: pdf")
    known.locator("[name$=-locator]").fill("p. 12")
    expect(known.locator("[data-looked] a")).to_have_attribute("href", "https://example.org/report.pdf#page=12")
    known.locator("[name$=-kind]").select_option("table")
    known.locator("[name$=-url]").fill("https://example.org/report2.pdf")
    expect(known.locator("[data-looked] a")).to_have_attribute("href", "https://example.org/report2.pdf")
    expect(known.locator("[name$=-kind]")).to_have_value("table")
    film.locator("[name$=-locator]").fill("third scene")
    expect(film.locator("[data-looked]")).to_contain_text("No time can be read")
    film.locator("[name$=-locator]").fill("03:41")
    expect(film.locator("[data-looked] a").first).to_have_attribute("href", "https://youtu.be/dQw4w9WgXcQ?t=221s")

    # a screenshot pasted and one dropped on the row: evidence of the item, the form stays open and dirty
    images = len(read_document(item.document).images)
    film.locator("[name$=-claim]").evaluate(PASTE_PICTURE)
    expect(film.locator("[data-capture] img")).to_have_count(1)
    film.locator("[name$=-claim]").evaluate(DROP_PICTURE)
    expect(film.locator("[data-capture] img")).to_have_count(2)
    expect(page.locator("#images figure")).to_have_count(images + 2)
    expect(page.locator("#sources [data-save-state]")).to_have_attribute("data-state", "unsaved")
    film.locator("[data-uncapture]").first.click()
    expect(film.locator("[data-capture]")).to_have_count(1)
    assert visitor.axe() == []
    save(page, "sources")

    expect(page.locator("#source-s10 [data-capture] img")).to_have_count(1)
    expect(page.locator("#source-s10 a", has_text="03:41")).to_have_attribute(
        "href", "https://youtu.be/dQw4w9WgXcQ?t=221s"
    )
    expect(page.locator("#source-s12")).to_contain_text("nothing yet")
    saved = read_document(Item.objects.get(pk=item.pk).document)
    assert [s.kind for s in saved.sources[8:]] == ["wikipedia", "video", "video", "table"]
    assert saved.sources[9].url == "https://youtu.be/dQw4w9WgXcQ" and len(saved.sources[9].captures) == 1
    assert len(saved.images) == images + 2 and saved.images[-1].role == "evidence"
    assert visitor.unexpected_errors() == []

    # one address goes in by the browser's own hand, whatever it holds; the other item is one click away
    page.click("#source-s1 .wb-elsewhere a")
    expect(page.locator("#item-head")).to_contain_text(f"#{there.number}")


def test_sources_at_400_px_in_the_dark(team: Team, visit: Any) -> None:
    team.item(replace(good_document(), id="there"))
    item = team.item(replace(good_document(), id="mine"))
    visitor = visit(team.ann, width=400, dark=True)
    page = visitor.open(address(item))
    edit(page, "sources")
    expect(page.locator("#sources [data-looked] a").first).to_be_visible()
    assert visitor.axe() == []
    assert page.evaluate("document.querySelector('#sources').scrollWidth <= innerWidth")
    assert visitor.unexpected_errors() == []
