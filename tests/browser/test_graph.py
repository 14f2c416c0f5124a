"""The hidden graph, the design notes and the blur helper in a real browser, most of it by keyboard alone."""

from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.document import read_document
from annotation.models import Item
from tests.documents import good_data
from tests.factories import Team

from .test_workbench import address, edit, fill, picture, row, save, until


@pytest.fixture
def team(transactional_db: Any) -> Team:
    from tests.factories import make_team

    return make_team()


def test_design_names_elements_by_completion_and_shows_what_they_are(team: Team, visit: Any, tmp_path: Any) -> None:
    item = team.item(read_document(good_data(id="named", images=[], checklist=[], design="")))
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    page.set_input_files("#add-images", [picture(tmp_path / "bridge.png")])
    expect(page.locator("#images figure")).to_have_count(1)
    edit(page, "design")
    field, preview = page.locator("#f-design-design"), page.locator("#design-preview")
    page.keyboard.type("From [[n")
    expect(page.get_by_role("option")).to_have_count(5)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type(" to [[lateran")
    expect(page.get_by_role("option").first).to_have_text("n5 Lateran Obelisk")
    assert visitor.axe() == []
    page.keyboard.press("Tab")
    page.keyboard.type(", [[gone]] and List<int>.\n\n![The bridge](")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    page.keyboard.type("\n\n[[s")
    page.keyboard.press("Escape")
    expect(page.get_by_role("option")).to_have_count(0)
    text = "From [[n2]] to [[n5]], [[gone]] and List<int>.\n\n![The bridge](i1)\n\n[[s"
    expect(field).to_have_value(text)
    expect(preview).to_contain_text("gone no such element and List<int>.")
    until(page, "document.querySelector('#design-preview img').naturalWidth > 0")
    card = preview.locator(".wb-refcard", has_text="Benjamin Baker")
    expect(card).to_be_hidden()
    preview.locator("a.wb-key", has_text="n2").hover()
    expect(card).to_be_visible()
    save(page, "design")
    shown = page.locator("#design .wb-ref", has_text="n5")
    shown.locator("a.wb-key").focus()
    expect(shown.locator(".wb-refcard")).to_contain_text("Node Lateran Obelisk")
    assert visitor.axe() == []
    page.keyboard.press("Escape")
    expect(shown.locator(".wb-refcard")).to_be_hidden()
    assert Item.objects.get(pk=item.pk).document["design"] == text
    assert visitor.unexpected_errors() == []


def test_graph_is_built_by_keyboard_alone(team: Team, visit: Any) -> None:
    item = team.item()
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "graph")
    status, press = page.locator("[data-graph-status]"), page.keyboard.press
    part = "document.activeElement.dataset.key"
    until(page, "document.querySelector('[data-graph-drawing] svg [tabindex=\"0\"]')")
    page.locator("[data-graph-drawing] svg [tabindex='0']").focus()
    # along the chain: node, relation, node
    assert page.evaluate(part) == "n1"
    press("ArrowRight")
    assert page.evaluate(part) == "r1"
    press("ArrowRight")
    press("Enter")
    expect(page.locator("[data-graph-drawing] .is-picked")).to_have_attribute("data-key", "n2")
    for _time in range(4):
        press("ArrowRight")
    press("Enter")  # n2 -> n4
    expect(status).to_contain_text("r5 made: n2 → n4")
    expect(page.locator("[data-graph-drawing] svg [data-key=r5]")).to_be_focused()
    press("Enter")
    via = row(page, "relations", 5).locator("[name$=-via]")
    expect(via).to_be_focused()
    assert page.evaluate("[...document.querySelector('#keys-via').options].map(o => o.value)") == ["ship designed"]
    page.keyboard.type("yard")
    expect(row(page, "relations", 5)).to_contain_text("“yard” is no property of n2")
    via.fill("ship designed")
    expect(row(page, "relations", 5).locator("[data-row-note]")).to_have_count(0)
    expect(page.locator("[data-graph-drawing]")).to_contain_text("No step covers r5")
    assert visitor.axe() == []
    # Delete takes a node and its relations away, Ctrl+Z brings them back
    page.locator("[data-graph-drawing] svg [data-key=n5]").focus()
    press("Delete")
    expect(status).to_contain_text("n5, r4 removed")
    expect(page.locator("[data-graph-drawing] svg [data-key=n5]")).to_have_count(0)
    expect(row(page, "nodes", 5)).to_have_class("wb-frow is-removed")
    until(page, f"{part} && {part} !== 'n5'")
    press("Control+z")
    expect(page.locator("[data-graph-drawing] svg [data-key=r4]")).to_have_count(1)
    # a node, and two properties of it, one below the other by Enter
    expect(page.locator("[data-graph-drawing] svg [data-key=n5]")).to_be_focused()
    press("Insert")
    page.keyboard.type("Domenico Fontana")
    expect(page.locator("[data-graph-drawing]")).to_contain_text("Domenico Fontana")
    row(page, "nodes", 6).locator("[data-add-prop]").focus()
    press("Enter")
    page.keyboard.type("work")
    press("Tab")
    page.keyboard.type("put it up")
    press("Enter")
    page.keyboard.type("year")
    save(page, "graph")
    saved = Item.objects.get(pk=item.pk).document
    assert [p["name"] for p in saved["nodes"][5]["properties"]] == ["work", "year"]
    assert saved["relations"][4] | {"description": ""} == {
        "key": "r5", "from": "n2", "to": "n4", "kind": None, "via": "ship designed", "description": "", "sources": [],
        "extra": {},
    }  # fmt: skip
    assert visitor.unexpected_errors() == []


def test_graph_is_built_by_mouse_and_steps_light_up_what_they_cover(team: Team, visit: Any) -> None:
    visitor = visit(team.ann)
    page = visitor.open(address(team.item()))
    page.hover("#node-n4 [data-step=c6]")
    lit = "[...document.querySelectorAll('#graph .is-lit')].map(e => e.dataset.element ?? e.dataset.key).sort().join()"
    until(page, f"{lit} === 'n4,n4,r4,r4'")
    edit(page, "graph")
    page.click("[data-graph-drawing] svg [data-key=n1]")
    page.click("[data-graph-drawing] svg [data-key=n3]")
    expect(row(page, "relations", 5).locator("[name$=-to]")).to_have_value("n3")
    expect(page.locator("[data-graph-drawing] svg [data-key=r5]")).to_have_count(1)
    page.click("#graph [data-undo]")
    expect(page.locator("[data-graph-drawing] svg [data-key=r5]")).to_have_count(0)
    page.click("[data-graph-drawing] svg [data-key=n3]")
    page.click("[data-graph-drawing] svg [data-key=n3]")
    expect(row(page, "nodes", 3).locator("[name$=-entity]")).to_be_focused()
    row(page, "nodes", 3).locator("[data-drop-prop]").first.click()
    expect(row(page, "nodes", 3).locator("[data-prop]:visible")).to_have_count(0)
    page.click("#graph [data-undo]")
    expect(row(page, "nodes", 3).locator("[data-prop] [name$=-value]").first).to_have_value("Victoria Embankment")
    fill(row(page, "relations", 1), to="n1")
    expect(page.locator("[data-graph-drawing]")).to_contain_text("r1 leads from n1 to itself")
    assert visitor.unexpected_errors() == []


def test_blur_puts_coarser_words_into_the_question_and_can_be_undone(team: Team, visit: Any) -> None:
    item = team.item(read_document(good_data(id="blur", answer="1998", question="x")))
    visitor = visit(team.ann)
    page = visitor.open(address(item))
    edit(page, "question")
    field = page.locator("#f-question-question")
    field.fill("😀 In 1887, near the Lateran Obelisk,\n337 came on 12 March 1998.")
    page.locator("[data-blurs] > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".wb-blurs li")).to_have_count(4)
    expect(page.locator(".wb-blurs li").last.get_by_text("still holds the answer")).to_have_count(2)
    assert visitor.axe() == []
    page.locator("[data-blur='more than 300']").focus()
    page.keyboard.press("Enter")
    expect(field).to_have_value("😀 In 1887, near the Lateran Obelisk,\nmore than 300 came on 12 March 1998.")
    page.click("[data-blur='in the 1990s']")
    expect(field).to_have_value("😀 In 1887, near the Lateran Obelisk,\nmore than 300 came in the 1990s.")
    expect(page.locator("[data-was='1887']").first).to_be_visible()
    expect(page.locator("[data-was='337']")).to_have_count(0)
    field.focus()
    page.keyboard.press("Control+z")
    expect(field).to_have_value("😀 In 1887, near the Lateran Obelisk,\nmore than 300 came on 12 March 1998.")
    assert Item.objects.get(pk=item.pk).question == "x"
    assert visitor.unexpected_errors() == []
