"""Shortcut probes and gradeability in a browser: asked, answered, judged by a person; on the audit page and alone."""

import threading
from typing import Any

import pytest
from playwright.sync_api import expect

from annotation.states import State
from audit.models import GradeCheck, Probe
from lhdr_site.endpoints.demo_server import DemoServer
from tests.evaluation.probing import item_with_picture, work


@pytest.fixture
def setting(transactional_db: Any) -> Any:
    from tests.evaluation.setting import make_setting

    server = DemoServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield make_setting(server, 1)
    server.shutdown()
    server.server_close()


def test_auditor_probes_an_item_and_checks_that_it_can_be_graded(setting: Any, visit: Any) -> None:
    item = item_with_picture(setting, State.MULTIMODAL_AUDIT)
    visitor = visit(setting.team.aud)
    page = visitor.open(f"/b/bench/items/{item.number}/audit/")
    card = page.locator("#probe-panel")
    card.get_by_label(setting.system.name).check()
    card.get_by_label("Judge of the answers").select_option(label=setting.judge.name)
    card.get_by_role("button", name="Ask", exact=True).click()
    expect(card.locator(".pr-probe")).to_have_count(2)
    expect(card.get_by_text("It waits for its turn.").first).to_be_visible()

    work()  # the worker; the page looks by itself
    expect(card.locator(".pr-probe .wb-prose")).to_have_count(2)
    expect(card.get_by_text("2 answers wait for a person's word.")).to_be_visible()
    for probe in Probe.objects.order_by("-pk"):
        entry = card.locator(f"#probe-{probe.pk}")
        expect(entry.locator("p", has_text="Judge")).not_to_contain_text("is being asked")
        entry.get_by_label("not recovered", exact=True).check()
        entry.get_by_label("no direct path").check()
        entry.get_by_role("button", name="Save the word").click()
        expect(entry.locator(".wb-pill", has_text="not recovered")).to_be_visible()
    expect(card.get_by_text("95.0%").first).to_be_visible()

    grade = page.locator("#grade-panel")
    grade.get_by_role("button", name="Check", exact=True).click()
    expect(grade.get_by_text("being", exact=False).or_(grade.get_by_text("pending")).first).to_be_visible()
    work()
    expect(grade.locator(".wb-sec-h").get_by_text("gradeable", exact=True)).to_be_visible()
    assert GradeCheck.objects.get().status == "passed"
    assert visitor.axe() == []

    narrow = visit(setting.team.ann, width=400, dark=True)
    for path in (f"items/{item.number}/probes/", f"items/{item.number}/gradeability/", "exposure/"):
        page = narrow.open(f"/b/bench/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
        assert narrow.axe() == [], path
    assert not visitor.unexpected_errors() and not narrow.unexpected_errors()
