"""A real Chromium against a live server, with what every page is held to: no console error, no axe finding."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.evaluation.conftest import demo_server
from tests.factories import PASSWORD

__all__ = ["demo_server"]

# A busy machine takes its time; what is expected comes, or the test fails later.
WAIT_MS = 30_000
expect.set_options(timeout=WAIT_MS)
AXE = Path(__file__).resolve().parents[1] / "vendor" / "axe.min.js"
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
).split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    import os

    if not CHROMIUM.exists():
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing: apt-get install chromium")
        pytest.skip("Chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


class Visitor:
    """One person at one browser. `page` is Playwright's; console errors are kept and must be none."""

    def __init__(self, context: BrowserContext, base: str):
        self.context, self.base = context, base
        self.errors: list[str] = []
        self.page = self.new_page()

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        return page

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page

    def log_in(self, user: Any) -> "Visitor":
        self.open("/login/")
        self.page.get_by_label("User name").or_(self.page.get_by_label("Username")).fill(user.get_username())
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(lambda url: "/login/" not in url)
        return self

    def axe(self) -> list[str]:
        """What axe finds on the present page against WCAG 2.2 AA, one line a finding."""
        self.page.wait_for_load_state()
        # As high as the page: what sticks to an edge would lie over controls that one can scroll out from under it.
        size = self.page.viewport_size
        assert size is not None
        height = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": size["width"], "height": min(max(height, size["height"]), 30_000)})
        self.page.evaluate(AXE.read_text())
        result = self.page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
        )
        self.page.set_viewport_size(size)
        return [f"{v['id']}: {node['html'][:160]}" for v in result["violations"] for node in v["nodes"]]

    def unexpected_errors(self) -> list[str]:
        """Console errors other than the browser's own notes on 4xx replies, which tests provoke."""
        return [e for e in self.errors if "Failed to load resource" not in e and "Response Status Error" not in e]


@pytest.fixture
def visit(chromium: Browser, live_server: Any) -> Iterator[Any]:
    """visit(user, width=1280, dark=False) -> Visitor, logged in as the user (None: not at all)."""
    contexts: list[BrowserContext] = []

    def start(user: Any = None, *, width: int = 1280, height: int = 900, dark: bool = False, **options: Any) -> Visitor:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        visitor = Visitor(context, live_server.url)
        return visitor.log_in(user) if user is not None else visitor

    yield start
    for context in contexts:
        context.close()
