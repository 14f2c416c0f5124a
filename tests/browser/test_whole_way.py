"""The main job in a real browser, with a real worker: four people in a strict benchmark, and one alone in a sandbox."""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, expect

from annotation.models import Item
from audit.models import Release
from evaluation.models import Run, RunState
from lhdr_site.endpoints.demo_server import DemoServer
from lhdr_site.endpoints.models import Endpoint
from tests.documents import good_data
from tests.factories import make_team
from tests.flows.processes import start, wait_until

__all__ = ["start"]  # the fixture of worker processes

pytestmark = pytest.mark.worker
SELECTS = {"modality", "effect", "kind", "volatility", "role", "category", "template"}


@pytest.fixture
def demo_server() -> Iterator[DemoServer]:
    server = DemoServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def picture(folder: Path, name: str, color: str) -> Path:
    image = Image.new("RGB", (640, 400), color)
    ImageDraw.Draw(image).line((0, 0, 640, 400), fill="white", width=8)
    out = io.BytesIO()
    image.save(out, "PNG")
    path = folder / name
    path.write_bytes(out.getvalue())
    return path


# --- constructing -------------------------------------------------------------------------------------------------


def edit(page: Page, section: str) -> Locator:
    page.locator(f"#{section} [data-edit]").click()
    page.wait_for_selector(f"#{section}.is-editing")
    card = page.locator(f"#{section}")
    card.evaluate("card => card.querySelectorAll('details').forEach(d => { d.open = true; })")
    return card


def save(page: Page, section: str) -> None:
    page.locator(f"#{section} form button[type=submit].btn-primary").click()
    page.wait_for_selector(f"#{section}:not(.is-editing)")


def fill(scope: Locator, name: str, value: str) -> None:
    control = scope.locator(f'[name="{name}"], [name$="-{name}"]').first
    if name.split("-")[-1] in SELECTS:
        control.select_option(value)
    else:
        control.fill(value)


def fill_rows(card: Locator, list_name: str, rows: list[dict[str, str]]) -> None:
    area = card.locator(f'[data-rows="{list_name}"]')
    for row in rows:
        area.locator("[data-add]").click()
        fields = area.locator("[data-row]:visible").last
        fields.evaluate("row => row.querySelectorAll('details').forEach(d => { d.open = true; })")
        for name, value in row.items():
            if value:
                fill(fields, name, value)


def keys(values: list[str]) -> str:
    return ", ".join(values)


def construct(page: Page, folder: Path, data: dict[str, Any]) -> None:
    """Type a whole item, as `data` describes it, into an empty one."""
    page.locator("#add-images").set_input_files(
        [picture(folder, "bridge.png", "navy"), picture(folder, "b.png", "teal")]
    )
    expect(page.locator("#images figure")).to_have_count(2)
    card = edit(page, "images")
    for n, role in enumerate(("question", "evidence")):
        row = card.locator("[data-row]").nth(n)
        fill(row, "role", role)
        for name, value in {
            "alt": "A bridge",
            "caption": "Seen from the shore",
            "credit": "Drawn",
            "license": "CC0-1.0",
        }.items():
            fill(row, name, value)
    save(page, "images")

    card = edit(page, "sources")
    fields = ("url", "title", "claim", "kind", "accessed")
    fill_rows(card, "sources", [{name: source[name] for name in fields} for source in data["sources"]])
    save(page, "sources")

    card = edit(page, "graph")
    nodes = [
        {
            "entity": node["entity"],
            "aliases": "\n".join(node["aliases"]),
            "kind": node["kind"],
            "sources": keys(node["sources"]),
            "properties": "\n".join(f"{p['name']} | {p['value']} | {p['modality'] or ''}" for p in node["properties"]),
        }
        for node in data["nodes"]
    ]
    fill_rows(card, "nodes", nodes)
    relations = [
        {**{f: r[f] for f in ("from", "to", "kind", "via", "description")}, "sources": keys(r["sources"])}
        for r in data["relations"]
    ]
    fill_rows(card, "relations", relations)
    save(page, "graph")

    card = edit(page, "checklist")
    steps = [
        {
            "conclusion": step["conclusion"],
            "prerequisites": keys([key.removeprefix("c") for key in step["prerequisites"]]),
            "modality": step["modality"],
            "effect": step["effect"] or "",
            "nodes": keys(step["nodes"]),
            "relations": keys(step["relations"]),
            "sources": keys(step["sources"]),
            "images": keys(step["images"]),
        }
        for step in data["checklist"]
    ]
    fill_rows(card, "checklist", steps)
    save(page, "checklist")

    card = edit(page, "question")
    fill(card, "question", data["question"])
    fill(card, "answer", data["answer"])
    fill(card, "answer_sources", keys(data["answer_sources"]))
    fill(card, "as_of", "2026-11-30")
    save(page, "question")

    card = edit(page, "design")
    fill(card, "design", "Two branches that **merge**.")
    save(page, "design")

    card = edit(page, "metadata")
    fill(card, "category", data["category"])
    fill(card, "template", data["template"])
    for tag in data["operation_tags"]:
        card.locator(f'[name="operation_tags"][value="{tag}"]').check()
    save(page, "metadata")


def new_item(page: Page, base: str, slug: str) -> str:
    """Its address."""
    page.goto(f"{base}/b/{slug}/items/")
    page.get_by_role("button", name="New item").first.click()
    page.wait_for_url("**/items/*/")
    return page.url


# --- auditing -----------------------------------------------------------------------------------------------------


def answer_all(page: Page, url: str, *, optional: bool = True) -> None:
    """Tick every element and pass every criterion of the phase that is open."""
    page.goto(url + "audit/")
    ticks = page.locator('button[name="supported"][value="yes"]')
    for n in range(ticks.count()):
        ticks.nth(n).click()
        expect(ticks.nth(n)).to_have_attribute("aria-pressed", "true")
    for link in page.locator(".wb-link").all():  # phase 4: say of every source that one opened it
        link.locator("summary").first.click()
        link.locator("input[name=note]").fill("Opened; it says so")
        link.get_by_role("button", name="It opens").click()
        expect(link).to_contain_text("said")
    names = page.locator('[data-judge="criterion"] > li').evaluate_all("rows => rows.map(row => row.id)")
    for name in names:
        row = page.locator(f"#{name}")
        row.locator('label:has(input[name="rating"][value="4"])').click()
        row.locator('label:has(input[name="verdict"][value="pass"])').click()
        if row.locator("button[type=submit]").is_visible():
            row.locator("button[type=submit]").click()
        expect(page.locator(f"#{name}[data-saved], #{name}:not([data-open])")).to_have_count(1)


def move(page: Page, url: str, name: str) -> None:
    page.goto(url + "audit/")
    form = page.locator(f'form:has(input[name="move"][value="{name}"])')
    with page.expect_navigation():
        form.locator("button[type=submit]").click()
        if name == "lock":
            page.locator("#confirm [data-confirm-yes]").click()


def state_of(url: str) -> str:
    return Item.objects.get(
        number=int(url.rstrip("/").rsplit("/", 1)[1]), benchmark__slug=url.split("/b/")[1].split("/")[0]
    ).state


# --- releasing and evaluating -------------------------------------------------------------------------------------


def release_and_run(page: Page, base: str, slug: str, endpoint: Endpoint) -> Run:
    page.goto(f"{base}/b/{slug}/releases/cut/")
    page.get_by_role("button", name="Go on").click()
    page.locator('main [name="name"]').fill("v1")
    page.get_by_role("button", name="Cut the release").click()
    page.locator("#confirm [data-confirm-yes]").click()
    page.wait_for_url("**/releases/v1/")
    with page.expect_download() as download:
        page.locator('a[href$="export/?variant=full"]').click()
    row = json.loads(Path(download.value.path()).read_text())
    assert row["schema"] == "lhdr.item/1" and row["question"]

    for kind in ("systems", "judges"):
        page.goto(f"{base}/b/{slug}/{kind}/new/")
        page.locator('[name="name"]').fill(f"A {kind[:-1]}")
        page.locator('[name="model"]').fill(f"demo-{kind[:-1]}")
        page.locator('[name="family"]').fill(f"family of {kind}")
        page.locator('[name="endpoint"]').select_option(str(endpoint.pk))
        if kind == "systems":
            page.locator('[name="group"]').select_option("tool_free_vlm")
        page.locator("main form button[type=submit].btn-primary").click()
        page.wait_for_url(f"**/{kind}/")

    page.goto(f"{base}/b/{slug}/runs/new/")
    page.locator("#id_judges input[type=checkbox], [name=judges][type=checkbox]").first.check()
    for name in ("release", "system", "main_judge"):
        select = page.locator(f'select[name="{name}"]')
        if select.count():
            select.select_option(index=select.locator("option").count() - 1)
    with page.expect_navigation():
        page.get_by_role("button", name="Launch", exact=True).click()
    if page.url.endswith("/runs/new/"):  # an item without a picture is worth a warning, not a refusal
        assert page.get_by_text("Before you launch:").count()
        page.get_by_role("button", name="Launch anyway").click()
    page.wait_for_url("**/runs/1/")
    return Run.objects.get(benchmark__slug=slug)


def read_response(page: Page, run: Run) -> None:
    """The page that shows a response with its verdict and credit."""
    response = run.responses.get()
    verdict = response.verdicts.get()
    page.locator(f'a[href$="/responses/{response.pk}/"]').first.click()
    page.wait_for_url("**/responses/*/")
    page.get_by_role("button", name="Show the others here").click()
    expect(page.get_by_role("heading", name="Marks and credit")).to_be_visible()
    assert page.locator("[id^=step-], [id^=r-], tr:has(.c-green), tr:has(.c-red)").count() >= len(verdict.vector)
    expect(page.get_by_text("Dependency-aware", exact=False).first).to_be_visible()
    expect(page.get_by_text("CHECKLIST_RESULT", exact=False).first).to_be_visible()


def test_four_people_take_an_item_the_whole_way(
    visit: Any, start: Any, demo_server: DemoServer, tmp_path: Path, live_server: Any
) -> None:
    team = make_team("way")
    endpoint = Endpoint.objects.create(name="demo", base_url=demo_server.address, is_demo=True)
    team.benchmark.endpoints.add(endpoint)
    base = live_server.url

    author = visit(team.ann)
    url = new_item(author.page, base, "way")
    construct(author.page, tmp_path, good_data())
    item = Item.objects.get()
    assert (item.steps, item.nodes, item.images, item.revision_number) == (10, 5, 2, 9)
    author.page.goto(url)
    assert author.axe() == []
    move(author.page, url, "submit")
    assert state_of(url) == "submitted"
    # What is submitted is no longer the author's to edit, and nobody audits their own.
    author.page.goto(url)
    expect(author.page.locator("[data-edit]")).to_have_count(0)

    core = visit(team.core)
    answer_all(core.page, url)
    assert core.axe() == []
    move(core.page, url, "pass")
    assert state_of(url) == "secondary_audit"
    auditor = visit(team.aud)
    for expected in ("multimodal_audit", "factual_audit"):
        answer_all(auditor.page, url)
        move(auditor.page, url, "pass")
        assert state_of(url) == expected
    answer_all(core.page, url)
    move(core.page, url, "pass")
    assert state_of(url) == "approved"
    move(core.page, url, "lock")
    assert state_of(url) == "locked"

    admin = visit(team.admin)
    run = release_and_run(admin.page, base, "way", endpoint)
    assert Release.objects.get().audited
    assert admin.page.get_by_text("0 of 1 items done").count()
    start("worker", "-P", "threads", "-c", "4", "-l", "WARNING")
    start("beat", "-l", "WARNING", "-s", str(tmp_path / "beat"))
    wait_until(lambda: type(run).objects.get(pk=run.pk).state == RunState.FINISHED, 40, "the end of the run")
    # The page updates by itself: nobody reloads it.
    expect(admin.page.get_by_text("1 of 1 items done")).to_be_visible(timeout=15_000)
    assert admin.axe() == []
    read_response(admin.page, run)
    assert admin.axe() == []
    admin.open("/b/way/results/")
    expect(admin.page.get_by_role("rowheader", name="A system").first).to_be_visible()
    assert admin.axe() == []
    for person in (author, core, auditor, admin):
        assert person.unexpected_errors() == []


def test_one_person_alone_goes_the_whole_way_in_a_sandbox(
    visit: Any, start: Any, demo_server: DemoServer, tmp_path: Path, live_server: Any
) -> None:
    team = make_team("alone", "sandbox")
    endpoint = Endpoint.objects.create(name="demo", base_url=demo_server.address, is_demo=True)
    team.benchmark.endpoints.add(endpoint)
    me = visit(team.admin)
    page = me.page
    url = new_item(page, live_server.url, "alone")
    card = edit(page, "checklist")
    fill_rows(card, "checklist", [{"conclusion": "The sum of two and two is four."}])
    save(page, "checklist")
    card = edit(page, "question")
    fill(card, "question", "How much is two and two?")
    fill(card, "answer", "4")
    save(page, "question")
    move(page, url, "submit")
    assert state_of(url) == "secondary_audit"
    for expected in ("multimodal_audit", "factual_audit", "approved"):
        answer_all(page, url)
        move(page, url, "pass")
        assert state_of(url) == expected
    move(page, url, "lock")
    assert state_of(url) == "locked"
    run = release_and_run(page, live_server.url, "alone", endpoint)
    assert not Release.objects.get().audited
    start("worker", "-P", "threads", "-c", "4", "-l", "WARNING")
    start("beat", "-l", "WARNING", "-s", str(tmp_path / "beat"))
    wait_until(lambda: type(run).objects.get(pk=run.pk).state == RunState.FINISHED, 40, "the end of the run")
    expect(page.get_by_text("1 of 1 items done")).to_be_visible(timeout=15_000)
    read_response(page, run)
    assert me.unexpected_errors() == []
