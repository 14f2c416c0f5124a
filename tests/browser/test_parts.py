"""The parts of pages in a real browser: axe finds nothing, and what app.js promises holds."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from playwright.sync_api import Dialog, Page

from lhdr_site.views import gallery

pytestmark = pytest.mark.urls(__name__)


def answer(request: HttpRequest, status: int) -> HttpResponse:
    """An htmx answer with a status of choice."""
    return HttpResponse(f'<p id="answer">{status} {request.method}</p>', status=status)


urlpatterns = [
    path("gallery/", login_not_required(gallery)),
    path("answer/<int:status>/", login_not_required(answer)),
    path("", include("lhdr_site.urls")),
]


@pytest.fixture
def visitor(visit: Any, live_server: Any) -> Any:
    visitor = visit(base_url=live_server.url)
    visitor.open("/gallery/")
    return visitor


@pytest.fixture
def page(visitor: Any) -> Page:
    return visitor.page


@pytest.mark.parametrize("address", ["/gallery/", "/login/", "/nothing-here/"])
def test_page_when_looked_at_by_axe_has_no_finding(visitor: Any, page: Page, address: str) -> None:
    for scheme, paper in (("light", "rgb(245, 246, 248)"), ("dark", "rgb(15, 18, 22)")):
        for width in (1280, 400):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            assert visitor.axe() == [], (scheme, width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    # the gallery holds an unsaved form, and a page that nobody touched may not ask before it is left
    assert [text for text in visitor.unexpected_errors() if "beforeunload" not in text] == []


def test_theme_when_chosen_is_kept_by_the_server(page: Page) -> None:
    page.click(".wb-top details.wb-menu > summary")
    page.click("[data-set-theme=dark]")
    page.reload()
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 18, 22)"


def test_shortcuts_when_typing_or_composing_do_nothing(page: Page) -> None:
    page.focus("#new_answer")
    page.keyboard.type("?")
    assert page.input_value("#new_answer") == "?"
    assert page.locator("dialog[open]").count() == 0
    page.fill("#new_answer", "")
    page.evaluate("document.activeElement.blur()")
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '?', isComposing: true, bubbles: true}))"
    )
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("?")
    assert "Save" in page.inner_text("#shortcuts[open]")
    page.uncheck("[data-shortcuts-on]")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 0


def test_form_when_changed_is_marked_and_guards_leaving(page: Page) -> None:
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.fill("#new_answer", "x")
    assert page.get_attribute("form[data-guard] .wb-save", "data-state") == "unsaved"
    page.fill("#new_answer", "")
    assert page.get_attribute("form[data-guard] .wb-save", "data-state") == "saved"
    page.fill("#new_answer", "y")
    page.goto("/login/")
    assert asked[:1] == ["beforeunload"]


def test_destructive_button_when_cancelled_sends_nothing(page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method) if request.method == "POST" else None)
    page.evaluate("document.querySelector('#new_answer').form.noValidate = true")
    page.click("button[data-confirm]")
    assert "Leave without saving?" in page.inner_text("#confirm")
    page.click("#confirm >> text=Cancel")
    assert sent == []
    page.click("button[data-confirm]")
    with page.expect_request(lambda request: request.method == "POST"):
        page.click("#confirm >> text=Leave >> nth=-1")


def test_copying_when_the_page_is_not_https_goes_through_a_selection_or_says_how(page: Page) -> None:
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.click("[data-copy=c3]")
    page.wait_for_selector("#toasts >> text=Copied")
    assert page.evaluate("document.activeElement.dataset.copy") == "c3"
    page.focus("#new_answer")
    page.keyboard.press("Control+v")
    assert page.input_value("#new_answer") == "c3"
    page.evaluate("document.execCommand = () => false")
    page.click("[data-copy=c3]")
    page.wait_for_selector("#toasts .wb-note-amber >> text=copy it by hand")


def test_htmx_when_refused_shows_the_answer_in_place(page: Page) -> None:
    page.evaluate("document.querySelector('.wb-empty').id = 'slot'")
    for status in (403, 409, 422):
        page.evaluate(f"htmx.ajax('POST', '/answer/{status}/', '#slot')")
        page.wait_for_selector(f"#answer:has-text('{status} POST')")
    page.evaluate("htmx.ajax('POST', '/answer/503/', '#slot')")
    page.wait_for_selector("#toasts .wb-note-red")
    assert "422 POST" in page.inner_text("#slot")


def test_htmx_reply_when_its_asker_was_drawn_anew_lands_in_the_new_part(page: Page, visitor: Any) -> None:
    page.evaluate(
        """() => {
          const slot = document.querySelector(".wb-empty");
          const asks = 'hx-post="/answer/200/" hx-target="#slot" hx-swap="outerHTML"';
          slot.outerHTML = `<div id="slot"><button ${asks}>Go</button></div>`;
          htmx.process(document.getElementById("slot"));
        }"""
    )
    held: list[Any] = []
    page.route("**/answer/200/", lambda route: held.append(route))
    with page.expect_request("**/answer/200/"):
        page.click("#slot button")
    page.evaluate("document.getElementById('slot').outerHTML = '<div id=slot>Drawn anew</div>'")
    parts = '<div id="slot">Answered</div><p hx-swap-oob="true" id="told">x</p>'
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p id=told>Not yet</p>')")
    held[0].fulfill(status=200, content_type="text/html", body=parts)
    page.wait_for_selector("#slot:has-text('Answered')")
    assert page.inner_text("#told") == "x"
    assert visitor.unexpected_errors() == []


def test_file_when_dropped_or_pasted_lands_in_the_field(page: Page) -> None:
    make = "const d = new DataTransfer(); d.items.add(new File(['x'], 'map.png', {type: 'image/png'}));"
    page.evaluate(
        f"() => {{{make} document.querySelector('[data-dropzone]').dispatchEvent("
        "new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: d}))}"
    )
    assert page.evaluate("document.querySelector('#new_image').files[0].name") == "map.png"
    page.evaluate("document.querySelector('#new_image').value = ''")
    page.evaluate(
        f"() => {{{make} document.dispatchEvent("
        "new ClipboardEvent('paste', {bubbles: true, cancelable: true, clipboardData: d}))}"
    )
    assert page.evaluate("document.querySelector('#new_image').files.length") == 1


def test_image_when_clicked_is_shown_in_full(page: Page) -> None:
    page.click("a[data-zoom]")
    assert page.get_attribute("#zoom[open] img", "alt") == "Two branches that meet in a dot"
    page.click("[data-zoom-size]")
    assert page.get_attribute("[data-zoom-size]", "aria-pressed") == "true"


def test_page_when_script_is_off_still_reads_and_navigates(visit: Any) -> None:
    page = visit(java_script_enabled=False).open("/gallery/")
    page.click("details.wb-menu:has-text('Download') > summary")
    assert page.is_visible("text=LaTeX")
    assert not page.is_visible("[data-dialog-open=shortcuts]")
