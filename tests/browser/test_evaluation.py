"""Launching, watching and reading a run in a real browser: clean for axe in light and dark, alive without reload, and
readable without script.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from evaluation import study_actions
from evaluation.failure_modes import OWN_VERSION
from evaluation.label_actions import label_failures
from evaluation.marking_actions import plan_marking, reveal_verdicts
from evaluation.models import Labelling, Response, Run, Study, Verdict
from lhdr_site.endpoints.demo_server import DemoServer
from tests.evaluation.setting import Setting, make_setting, work_through

VECTOR = [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]


@pytest.fixture
def setting(transactional_db: Any, demo_server: DemoServer) -> Setting:
    return make_setting(demo_server, 4)


@pytest.fixture
def full(setting: Setting) -> Setting:
    """Runs in three states: 1 finished with every kind of outcome and two judges, 2 failed, 3 queued."""
    second = setting.new_judge(name="Second judge")
    run = work_through(setting.launch(judges=[setting.judge, second]))
    rows = list(run.responses.order_by("release_item__position"))
    Verdict.objects.filter(response=rows[0]).update(answer_correct=True, vector=VECTOR)
    Verdict.objects.filter(response=rows[0], judge=second).update(vector=[1] * 10)
    Verdict.objects.filter(response=rows[1]).update(answer_correct=None, vector=None, unparseable="vector missing")
    Response.objects.filter(pk=rows[2].pk).update(
        truncated=True,
        text="# A head\n\n- one\n- two `code`\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nhttps://example.org/x",
        thinking="Let me see.",
        citations=[{"url": "https://example.org/page", "title": "A page"}],
    )
    work_through(setting.launch(system=setting.misbehaving("refused")))
    setting.launch(system=setting.new_system(name="Waiting", family="Other"))
    study = make_study(setting, systems=[row.system for row in Run.objects.order_by("number")])
    for number in (1, 2):
        study_actions.adopt_run(study, Run.objects.get(number=number), actor=setting.team.admin)
    return setting


def make_study(setting: Setting, **changes: Any) -> Study:
    data = {"name": "Spring", "release": setting.release, "systems": [setting.system], "judges": [setting.judge]}
    return study_actions.create_study(setting.benchmark, {**data, **changes}, actor=setting.team.admin)


def pages(setting: Setting) -> list[str]:
    rows = list(Run.objects.get(number=1).responses.order_by("release_item__position").values_list("pk", flat=True))
    failed = Run.objects.get(number=2).responses.order_by("pk")[0].pk
    return [
        "/b/bench/systems/",
        "/b/bench/systems/new/",
        "/b/bench/judges/",
        "/b/bench/judges/new/",
        "/b/bench/runs/",
        "/b/bench/runs/new/",
        *(f"/b/bench/runs/{number}/" for number in (1, 2, 3)),
        "/b/bench/runs/1/?view=table",
        "/b/bench/runs/1/unparseable/",
        "/b/bench/prompts/",
        "/b/bench/prompts/lhdr-quote-1/",
        "/b/bench/marking/",
        "/b/bench/judges/anchors/",
        "/b/bench/runs/3/cancel/",
        "/b/bench/runs/1/judge/",
        *(f"/b/bench/runs/1/responses/{pk}/" for pk in rows[:3]),
        f"/b/bench/runs/1/responses/{rows[0]}/?tab=attempts&output=prompt",
        f"/b/bench/runs/1/responses/{rows[0]}/?tab=request",
        f"/b/bench/runs/1/responses/{rows[0]}/?tab=raw",
        f"/b/bench/runs/2/responses/{failed}/",
        *(f"/b/bench/studies/{path}" for path in ("", "new/", "1/", "1/plan/", "1/cancel/", "1/freeze/")),
        "/b/bench/results/?study=1",
        "/b/bench/results/",
        "/b/bench/results/?view=flat&sort=OA",
        "/b/bench/results/?condition=without_image",
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_are_clean_for_axe_and_the_console(visit: Any, full: Setting, dark: bool) -> None:
    visitor = visit(full.team.admin, dark=dark)
    blind = visitor.open(pages(full)[17])
    expect(blind.get_by_role("heading", name="Your verdict")).to_be_visible()
    assert visitor.axe() == []
    blind.get_by_role("button", name="in the whole run").click()
    wrong = []
    for path in pages(full):
        visitor.open(path)
        wrong += [f"{path}: {finding}" for finding in visitor.axe()]
    assert wrong == []
    assert visitor.unexpected_errors() == []


def test_pages_fit_a_phone(visit: Any, full: Setting) -> None:
    visitor = visit(full.team.ann, width=400)
    wide = []
    for path in pages(full):
        if any(part in path for part in ("/new/", "/cancel/", "/judge/", "/plan/", "/freeze/")):
            continue
        page = visitor.open(path)
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide.append(path)
    assert wide == []


@pytest.mark.parametrize("width", [1280, 400])
def test_run_with_several_verdicts_per_judge_fits_the_page(visit: Any, setting: Setting, width: int) -> None:
    work_through(setting.launch(repeats=2, judges=[setting.judge, setting.new_judge(name="A judge of a long name")]))
    page = visit(setting.team.admin, width=width).open("/b/bench/runs/1/")
    expect(page.get_by_text("Flips").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_run_is_launched_watched_and_cancelled(visit: Any, setting: Setting) -> None:
    visitor = visit(setting.team.admin)
    page = visitor.open("/b/bench/runs/")
    page.get_by_role("link", name="Launch a run").first.click()
    page.get_by_label("Release", exact=True).select_option(label="r1, 4 items (not audited)")
    page.get_by_label("System").select_option(index=1)
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Launch", exact=True).click()
    expect(page.get_by_text("Release r1 is not audited")).to_be_visible()
    page.get_by_role("button", name="Launch anyway").click()
    page.wait_for_url("**/runs/1/")
    expect(page.get_by_text("0 of 4 items done")).to_be_visible()

    # One response comes in, as a worker would write it: the page shows it without a reload.
    page.evaluate("window.kept = true")
    run = Run.objects.get()
    first = run.responses.order_by("pk")[0]
    Run.objects.filter(pk=run.pk).update(state="queued")
    Response.objects.filter(pk=first.pk).update(status="completed", text="It is 1588.")
    expect(page.get_by_text("1 of 4 items done")).to_be_visible()
    assert page.evaluate("window.kept") is True

    page.get_by_role("link", name="Cancel run").click()
    page.get_by_role("button", name="Cancel it for good").click()
    page.wait_for_url("**/runs/1/")
    expect(page.get_by_text("Cancelled. What was answered and judged stays.")).to_be_visible()
    assert Run.objects.get().state == "cancelled"
    assert visitor.unexpected_errors() == []


def test_run_page_changes_its_buttons_when_the_run_ends(visit: Any, setting: Setting) -> None:
    run = setting.launch()
    page = visit(setting.team.admin).open("/b/bench/runs/1/")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    work_through(run)
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    expect(page.get_by_text("4 of 4 items done")).to_be_visible()


def test_study_is_filled_and_watched_to_its_end(visit: Any, setting: Setting) -> None:
    study = make_study(setting)
    visitor = visit(setting.team.admin)
    page = visitor.open("/b/bench/studies/1/")
    expect(page.get_by_text("4 not launched")).to_have_count(2)
    page.get_by_role("button", name="Fill the holes").click()
    expect(page.get_by_text("1 run launched.")).to_be_visible()
    expect(page.get_by_role("button", name="Pause all")).to_be_visible()
    work_through(study.runs.get())
    expect(page.get_by_text("Everything that was planned is there.")).to_be_visible(timeout=15_000)
    expect(page.get_by_role("button", name="Pause all")).to_be_hidden()
    page.get_by_role("link", name="Freeze").click()
    page.get_by_role("button", name="Freeze it for good").click()
    expect(page.get_by_text("Frozen. Nothing of the study changes any more.")).to_be_visible()
    assert visitor.unexpected_errors() == []


def test_run_page_says_once_that_the_server_does_not_answer(visit: Any, setting: Setting) -> None:
    setting.launch()
    visitor = visit(setting.team.ann)
    page = visitor.open("/b/bench/runs/1/")
    note = page.get_by_text("The server does not answer this page")
    expect(note).to_be_hidden()
    page.route("**/progress/**", lambda route: route.abort())
    expect(note).to_be_visible()
    page.wait_for_timeout(2500)  # the next try fails as well
    assert page.locator("#toasts .wb-note").count() == 0
    page.unroute("**/progress/**")
    expect(note).to_be_hidden()
    visitor.context.clear_cookies()
    expect(note).to_be_visible()
    assert page.locator("#toasts .wb-note").count() == 0


def test_preset_fills_the_extra_fields_and_a_wrong_one_is_shown_beside_it(visit: Any, setting: Setting) -> None:
    page = visit(setting.team.admin).open("/b/bench/systems/new/")
    page.get_by_label("Name").fill("Typed before")
    page.get_by_role("group", name="OpenAI").get_by_role("button", name="Web search").click()
    field = page.get_by_label("Extra request fields")
    expect(field).to_have_value(re.compile('"type": "web_search"'))
    expect(page.get_by_role("button", name="Web search").nth(1)).to_be_focused()
    expect(page.get_by_label("Name")).to_have_value("Typed before")
    field.fill("{")
    for label, text in (("Name", "Northlight"), ("Vendor family", "North"), ("Model id", "northlight-2")):
        page.get_by_label(label).fill(text)
    page.get_by_label("Group").select_option(index=1)
    page.get_by_label("Endpoint").select_option(index=1)
    page.get_by_role("button", name="Make the system").click()
    expect(page.get_by_text("This is no JSON")).to_be_visible()
    expect(field).to_have_value("{")
    expect(page.get_by_label("Name")).to_have_value("Northlight")
    field.fill('{"temperature": 0}')
    page.get_by_role("button", name="Make the system").click()
    expect(page.get_by_role("cell", name='{"temperature": 0}')).to_be_visible()


def test_auditor_marks_blind_with_the_keyboard_and_then_sees_the_others(visit: Any, full: Setting) -> None:
    response = Run.objects.get(number=1).responses.order_by("release_item__position")[0]
    visitor = visit(full.team.aud)
    page = visitor.open(f"/b/bench/runs/1/responses/{response.pk}/")
    expect(page.get_by_text("0 of 11 marked")).to_be_visible()
    assert "Right answer" not in page.content()
    for key in "yyynyyyyyyy":
        page.keyboard.press(key)
    expect(page.get_by_text("11 of 11 marked")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Judges side by side")).to_be_visible()
    expect(page.get_by_text("blind, before the others were shown")).to_be_visible()
    verdict = Verdict.objects.get(judge__person=full.team.aud)
    assert (verdict.blind, verdict.answer_correct, verdict.vector) == (True, True, VECTOR)
    assert visitor.unexpected_errors() == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_auditor_labels_failures_by_keyboard_alone_and_then_sees_the_others(
    visit: Any, full: Setting, width: int, dark: bool
) -> None:
    run = Run.objects.get(number=1)
    admin, judge = full.team.admin, full.judge
    label_failures(run, judge, judge, OWN_VERSION, actor=admin)
    work_through(run)
    reveal_verdicts(run, actor=full.team.aud)
    response = run.responses.order_by("release_item__position")[0]
    visitor = visit(full.team.aud, width=width, dark=dark)
    page = visitor.open(f"/b/bench/runs/1/responses/{response.pk}/")
    expect(page.get_by_text("The labels of 1 other are hidden until you give yours.")).to_be_visible()
    page.locator("#label-3").focus()
    page.keyboard.type("2")
    page.keyboard.press("Tab")
    page.keyboard.type("another bridge")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("your revision 1")).to_be_visible()
    expect(page.locator("#label-3")).to_have_value("wrong_entity")
    expect(page.locator("#note-3")).to_have_value("another bridge")
    expect(page.get_by_text(judge.name).first).to_be_visible()
    mine = Labelling.objects.get(labeller__person=full.team.aud)
    assert [(row["step"], row["mode"], row["note"]) for row in mine.labels] == [(3, "wrong_entity", "another bridge")]
    assert visitor.axe() == []
    assert visitor.unexpected_errors() == []


def test_drawn_step_leads_to_its_row_and_keys_lead_on(visit: Any, full: Setting) -> None:
    rows = list(Run.objects.get(number=1).responses.order_by("release_item__position"))
    page = visit(full.team.ann).open(f"/b/bench/runs/1/responses/{rows[0].pk}/")
    page.locator('svg a[data-key="c3"]').click()
    assert page.url.endswith("#step-c3")
    expect(page.locator("#step-c3")).to_contain_text("Missing")
    page.keyboard.press("j")
    page.wait_for_url(f"**/responses/{rows[1].pk}/")
    expect(page.get_by_text("The verdict cannot be read:")).to_be_visible()


def test_everything_is_read_and_decided_without_script(visit: Any, full: Setting) -> None:
    response = Run.objects.get(number=1).responses.order_by("release_item__position")[0]
    # The log-in needs no script either.
    visitor = visit(full.team.aud, java_script_enabled=False)
    page = visitor.open("/b/bench/runs/3/")
    expect(page.get_by_role("link", name="Reload")).to_be_visible()
    page = visitor.open(f"/b/bench/runs/1/responses/{response.pk}/")
    page.locator('#mark-answer label:has([value="fail"])').click()
    for number in range(1, 11):
        page.locator(f'#mark-{number} label:has([value="no"])').click()
    page.get_by_role("button", name="Give verdict").click()
    expect(page.get_by_role("heading", name="Judges side by side")).to_be_visible()
    assert Verdict.objects.get(judge__person=full.team.aud).vector == [0] * 10
    visitor.open("/b/bench/results/")
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()


def test_person_marks_a_whole_plan_by_the_keyboard(visit: Any, full: Setting) -> None:
    plan_marking(Run.objects.get(number=1), "random", 3, 1, actor=full.team.admin)
    visitor = visit(full.team.aud)
    page = visitor.open("/b/bench/marking/1/")
    assert visitor.axe() == []
    page.keyboard.press("Enter")
    page.wait_for_url("**/marking/1/1/")
    assert visitor.axe() == []
    for key in "yyynyyyyyyy":
        page.keyboard.press(key)
    expect(page.get_by_text("11 of 11 marked")).to_be_visible()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/marking/1/2/")
    page.locator("h1").click()
    page.keyboard.press("j")  # skipped
    page.wait_for_url("**/marking/1/3/")
    for position in (3, 2):
        page.wait_for_url(f"**/marking/1/{position}/")
        for key in "nnnnnnnnnnn":
            page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
    page.wait_for_url("**/marking/1/")
    expect(page.get_by_text("You have marked everything of this plan.")).to_be_visible()
    verdicts = Verdict.objects.filter(judge__person=full.team.aud).order_by("pk")
    assert [verdict.vector for verdict in verdicts] == [VECTOR, [0] * 10, [0] * 10]
    assert all(verdict.blind for verdict in verdicts)
    assert visitor.unexpected_errors() == []
