"""Choosing items, cutting a release with version, splits and licences, comparing it: pages, API and commands."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.actions import save_section
from annotation.models import Item
from audit import actions, release_actions, release_queries, second_actions
from audit.exports import Export
from audit.models import Errata, LinkCheck, Release
from audit.splits import SplitPlan
from lhdr_site.shared.errors import Invalid
from tests.audit.judging import fresh
from tests.audit.releasing import imported, with_stored_images
from tests.documents import good_document
from tests.factories import Team

pytestmark = pytest.mark.usefixtures("media")


@pytest.fixture
def items(team: Team) -> list[Item]:
    """Six locked items in two categories; they were locked without an audit."""
    kinds = ["media"] * 4 + ["sports"] * 2
    good = with_stored_images(team, good_document())
    rows = [replace(good, id=f"item-{n}", category=kind) for n, kind in enumerate(kinds, 1)]
    made = imported(team, *rows)
    actions.lock_imported(team.benchmark, actor=team.admin)
    return [fresh(item) for item in made]


def cut(team: Team, name: str = "v1", **options: Any) -> Release:
    return release_actions.cut_release(team.benchmark, name, actor=team.admin, **options)


def change(team: Team, item: Item, section: str, **values: Any) -> Item:
    """Unlock an item, change it and lock it again without an audit."""
    item = actions.unlock_item(fresh(item), "A fault", actor=team.core)
    data = {name: item.document[name] for name in read_section(item, section)} | values
    save_section(item, section, data, item.section_hashes[section], actor=team.admin)
    Item.objects.filter(pk=item.pk).update(state="locked")
    return fresh(item)


def read_section(item: Item, section: str) -> list[str]:
    from annotation.document import read_document

    return list(read_document(item.document).section(section))


def send(team: Team, step: str, **data: Any) -> Any:
    return team.client("admin").post(reverse(f"audit:release-{step}", args=["bench"]), data)


# --- choosing -----------------------------------------------------------------------------------------------------


def test_all_locked_items_are_chosen_at_first(team: Team, items: list[Item]) -> None:
    page = team.client("admin").get(reverse("audit:release-cut", args=["bench"]))
    assert page.context["items"] == "1-6" and b"6 of 6 chosen" in page.content


def test_ticks_filters_and_pages_keep_the_choice(team: Team, items: list[Item], monkeypatch: Any) -> None:
    monkeypatch.setattr("audit.views.releases.PAGE", 2)
    first = send(team, "cut", items="1-6", shown="1-2", n=["2"], do="page-2")
    assert first.context["items"] == "2-6" and first.context["shown"] == "3-4"
    assert send(team, "cut", items="2-6", category="sports", do="leave").context["items"] == "2-4"
    assert send(team, "cut", items="1", category="sports", do="take").context["items"] == "1, 5-6"
    assert send(team, "cut", items="1-6", category="sports", do="only").context["items"] == "5-6"
    assert send(team, "cut", items="1-2", n=["99", "x"], do="show").context["items"] == "1-2"


def test_link_of_the_item_list_chooses_what_it_holds(team: Team, items: list[Item]) -> None:
    admin = team.client("admin")
    text = admin.get("/b/bench/items/?category=sports&state=locked").content.decode()
    [link] = re.findall(r'href="(/b/bench/releases/cut/[^"]*)"', text)
    assert "category%3Dsports" in link
    actions.unlock_item(items[4], "A fault", actor=team.core)
    page = admin.get(link.replace("state%3Dlocked", ""))
    assert page.context["chosen"] == {6} and "The list held 2 items" in page.content.decode()
    assert page.context["page"].paginator.count == 5  # the others can still be taken
    assert "releases/cut" not in team.client("core").get("/b/bench/items/").content.decode()
    for odd in ("%00", "category=%ff&tag=none", "q=" + "x" * 5000):
        assert admin.get(reverse("audit:release-cut", args=["bench"]), {"list": odd}).status_code == 200


def test_gates_stand_beside_the_items_of_a_release_and_of_its_form(team: Team, items: list[Item]) -> None:
    cut(team)
    admin = team.client("admin")
    for address in ("/b/bench/releases/v1/", "/b/bench/releases/cut/"):
        assert admin.get(address).content.decode().count("Answer uniqueness: open;") == 6
    [audit] = second_actions.ask_double_audits(team.benchmark, [items[0].number], actor=team.core)
    second_actions.take_blind_audit(audit, actor=team.aud)
    text = team.client("aud").get("/b/bench/releases/v1/").content.decode()
    assert (
        text.count("Answer uniqueness: open;") == 5
        and text.count("Answer uniqueness: hidden while you audit it blind;") == 1
    )


def test_retired_items_are_left_out_unless_somebody_takes_them(team: Team, items: list[Item]) -> None:
    retire(team, items[1])
    page = team.client("admin").get(reverse("audit:release-cut", args=["bench"]))
    assert page.context["items"] == "1, 3-6" and b"1 retired item is left out" in page.content
    assert cut(team).item_count == 5
    assert cut(team, "v2", items=[1, 2]).item_count == 2


def retire(team: Team, item: Item) -> None:
    Errata.objects.create(
        item=item,
        revision=item.revisions.get(number=item.revision_number),
        kind="answer",
        grounds="Two answers fit",
        status=Errata.Status.RETIRED,
        reason="Not unique",
        author=team.ann,
        decided=timezone.now(),
        decided_by=team.core,
    )


def test_items_that_are_not_locked_are_refused_by_number(team: Team, items: list[Item]) -> None:
    team.item()
    with pytest.raises(Invalid, match="#7, #9") as caught:
        cut(team, items=[1, 7, 9])
    assert caught.value.code == "not_locked" and not Release.objects.exists()
    assert send(team, "check", items="1, 7").status_code == 422
    assert send(team, "check", items="").status_code == 422


def test_scattered_numbers_choose_these_items_alone(team: Team, items: list[Item]) -> None:
    for numbers in ([1, 2, 4, 6], [3], [1, 2, 3, 4, 6]):
        assert [item.number for item in release_queries.chosen_items(team.benchmark, numbers)] == numbers


# --- what is in it ------------------------------------------------------------------------------------------------


def test_second_page_shows_figures_targets_and_what_to_know(team: Team, items: list[Item]) -> None:
    team.benchmark.categories.filter(slug="media").update(target=9)
    revision = items[0].revisions.get(number=1)
    Errata.objects.create(item=items[0], revision=revision, kind="step", grounds="Hm", author=team.ann)
    LinkCheck.objects.create(item=items[2], source="s1", url="https://example.org", url_hash="0", status="dead")
    page = send(team, "check", items="1-6")
    codes = {warning.code: warning.numbers for warning in page.context["warnings"]}
    assert codes["without_audit"] == (1, 2, 3, 4, 5, 6) and codes["errata"] == (1,) and codes["links"] == (3,)
    row = next(row for row in page.context["groups"]["category"] if row.slug == "media")
    assert (row.items, row.percent, row.short) == (4, 67, 5)
    assert b"(5 short)" in page.content and b"1.0.0" in page.content


def test_query_count_of_the_second_page_does_not_grow(
    team: Team, items: list[Item], django_assert_max_num_queries: Any
) -> None:
    cut(team)
    client = team.client("admin")
    with django_assert_max_num_queries(45):
        client.post(reverse("audit:release-check", args=["bench"]), {"items": "1-6"})


# --- cutting ------------------------------------------------------------------------------------------------------


def test_release_is_cut_by_page_and_what_was_typed_stays_when_it_cannot_be(team: Team, items: list[Item]) -> None:
    typed = {"items": "1-4", "do": "cut", "version": "1.0.0", "name": "v1.0.0", "note": "First **set**"}
    assert send(team, "check", **typed).status_code == 302
    release = Release.objects.get()
    assert (release.item_count, release.version, release.audited) == (4, "1.0.0", False)
    again = send(team, "check", **typed | {"note": "Typed twice"})
    assert again.status_code == 422 and b"already" in again.content and b"Typed twice" in again.content
    taken = send(team, "check", **typed | {"name": "other"})
    assert taken.status_code == 422 and b"has the version 1.0.0 already" in taken.content
    assert send(team, "check", **typed | {"name": "other", "version": "1.0"}).status_code == 422
    page = team.client("ann").get(reverse("audit:release", args=["bench", "v1.0.0"])).content.decode()
    assert "<strong>set</strong>" in page and release.hash in page and "What is in it" in page


def test_splits_are_drawn_within_categories_and_recorded(team: Team, items: list[Item]) -> None:
    shares = {"parts": "share", "dev": "50", "test": "0", "held_out": "50", "seed": "3"}
    typed = {"items": "1-6", "do": "cut", "version": "1.0.0", "name": "v1", **shares}
    bad = send(team, "check", **typed | {"dev": "40"})
    assert bad.status_code == 422 and b"they must make 100 %" in bad.content
    assert send(team, "check", **typed).status_code == 302
    release = Release.objects.get()
    assert release.splits == {
        "by": "share",
        "shares": {"dev": 50, "test": 0, "held_out": 50},
        "seed": 3,
        "stratified": "category",
    }
    assert [release.release_items.filter(split=name).count() for name in ("dev", "test", "held_out")] == [3, 0, 3]
    page = team.client("ann").get(reverse("audit:release", args=["bench", "v1"]), {"split": "dev"})
    assert page.context["page"].paginator.count == 3 and b"seed 3" in page.content


def test_splits_by_a_list_need_every_item(team: Team, items: list[Item]) -> None:
    typed = {"items": "1-2", "do": "cut", "version": "1.0.0", "name": "v1", "parts": "list"}
    bad = send(team, "check", **typed, split_list="1,dev")
    assert bad.status_code == 422 and b"leaves out #2" in bad.content
    assert send(team, "check", **typed, split_list="1,dev\n2,test").status_code == 302


def test_picture_without_a_licence_blocks_until_there_is_a_reason(team: Team) -> None:
    bare = good_document(id="bare")
    imported(team, replace(bare, images=(replace(bare.images[0], license=" "), *bare.images[1:])))
    actions.lock_imported(team.benchmark, actor=team.admin)
    with pytest.raises(Invalid, match=r"#1 i1") as caught:
        cut(team)
    assert caught.value.code == "license_missing" and not Release.objects.exists()
    assert b"1 picture has no licence" in send(team, "check", items="1").content
    cut(team, license_note="Its owner agreed by letter")
    assert (
        b"Its owner agreed by letter" in team.client("ann").get(reverse("audit:release", args=["bench", "v1"])).content
    )


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"version": "1.2"}, "version"),
        ({"items": [99]}, "items"),
        ({"items": ["x"]}, "items.0"),
        ({"shares": {"dev": 10}}, "splits"),
        ({"splits": {"item-1": "train"}}, "splits.item-1"),
        ({"seed": 2**40}, "seed"),
        ({"name": "not a name"}, "name"),
        ({"note": "a\x00b"}, "note"),
    ],
)
def test_api_names_what_is_wrong(team: Team, items: list[Item], data: dict[str, Any], field: str) -> None:
    answer = team.client("admin").post(
        "/api/benchmarks/bench/releases/", {"name": "v1"} | data, content_type="application/json"
    )
    assert answer.status_code == 422, answer.content
    assert field.split(".")[0] in json.dumps(answer.json()) and not Release.objects.exists()


def test_agreement_and_residual_error_are_kept_and_printed(team: Team, items: list[Item], monkeypatch: Any) -> None:
    estimate = {"value": 0.1, "low": 0.02, "high": 0.3}
    row = {"title": "", "n": 8, "raw": estimate, "kappa": {"value": None, "low": None, "high": None}, "ac1": estimate}
    residual = {"population": 40, "verified": 20, "failed": 2, "rate": estimate, "adjudicated": estimate}
    quality = {"agreement": {"items": 8, "rows": [row]}, "residual": residual}
    monkeypatch.setattr(release_actions, "quality_of", lambda _benchmark: quality)
    assert cut(team).quality == quality
    page = team.client("ann").get(reverse("audit:release", args=["bench", "v1"])).content.decode()
    assert "10.0%" in page and "2 of 20 locked items failed" in page and "0.10 (0.02 – 0.30)" in page


# --- comparing ----------------------------------------------------------------------------------------------------


def test_changed_items_are_told_with_reasons_and_suggest_the_version(team: Team, items: list[Item]) -> None:
    old = cut(team, version="1.0.0", items=[1, 2, 3])
    erratum = Errata.objects.create(
        item=items[0], revision=items[0].revisions.get(number=1), kind="answer", grounds="Wrong", author=team.ann
    )
    change(team, items[0], "question", answer="another answer")
    Errata.objects.filter(pk=erratum.pk).update(status="revised", reason="The year was off", decided=timezone.now())
    page = send(team, "check", items="1, 2, 4")
    assert page.context["suggested"] == "2.0.0"
    note = page.context["form"].initial["note"]
    assert "Added: #4" in note and "Removed: #3" in note and "graded: #1" in note and "#1: The year was off" in note
    new = cut(team, "v2", version="2.0.0", items=[1, 2, 4])
    beside = release_queries.compare_releases(old, new)
    assert beside.comparison.added == ("item-4",) and beside.comparison.same == 1
    shown = team.client("ann").get(reverse("audit:release-compare", args=["bench", "v2"])).content.decode()
    assert "another answer" in shown and "The year was off" in shown and "item-3" in shown
    data = team.client("ann").get("/api/benchmarks/bench/releases/v2/compare/v1/").json()
    assert data["level"] == "major" and data["changed"][0]["fields"] == ["answer"]
    assert data["changed"][0]["errata"][0]["reason"] == "The year was off"
    assert team.client("stranger").get("/api/benchmarks/bench/releases/v2/compare/v1/").status_code == 404
    assert (
        team.client("ann").get(reverse("audit:release-compare", args=["bench", "v2"]) + "?with=no").status_code == 404
    )


def test_more_items_are_minor_and_the_same_ones_a_patch(team: Team, items: list[Item]) -> None:
    cut(team, version="1.0.0", items=[1, 2])
    assert send(team, "check", items="1-3").context["suggested"] == "1.1.0"
    assert send(team, "check", items="1-2").context["suggested"] == "1.0.1"


# --- exports of splits --------------------------------------------------------------------------------------------


def test_held_out_items_are_exported_without_answers_unless_asked(team: Team, items: list[Item]) -> None:
    release = cut(team, splits=SplitPlan(named={str(n): "held_out" if n > 3 else "dev" for n in range(1, 7)}))

    def lines(variant: str, **options: Any) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Export(release, variant, **options).lines()]

    full = lines("full")
    assert ["answer" in row for row in full] == [True] * 3 + [False] * 3 and "checklist" not in full[5]
    assert ["answer" in row for row in lines("mr-lhdr")] == [True] * 3 + [False] * 3
    assert all("answer" in row for row in lines("full", answers=True))
    assert [row["id"] for row in lines("public", split="held_out")] == ["item-4", "item-5", "item-6"]
    hidden = b"".join(Export(release, "full", split="held_out").lines())
    assert b"1588" not in hidden and b"Sixtus" not in hidden
    address = reverse("audit:release-export", args=["bench", "v1"])
    answer = team.client("admin").get(address, {"variant": "full", "split": "dev"})
    assert answer["Content-Disposition"].endswith('"bench-v1-dev-full.jsonl"')
    assert team.client("admin").get(address, {"variant": "full", "split": "nope"}).status_code == 422


# --- commands -----------------------------------------------------------------------------------------------------


def run(*args: str) -> str:
    out = io.StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def test_commands_cut_with_version_and_splits_export_a_split_and_compare(
    team: Team, items: list[Item], tmp_path: Path
) -> None:
    said = run(
        *("cut_release", "bench", "v1", "--version", "1.0.0", "--items", "1-4"),
        *("--splits", "dev=50,test=50", "--seed", "9"),
    )
    assert "v1 (1.0.0): 4 items" in said and Release.objects.get().splits["seed"] == 9
    out = tmp_path / "public.jsonl"
    assert "2 items" in run("export_release", "bench", "v1", "--out", str(out), "--variant", "public", "--split", "dev")
    assert len(out.read_text().splitlines()) == 2
    table = tmp_path / "splits.csv"
    table.write_text("".join(f"{n},test\n" for n in range(2, 7)))
    run("cut_release", "bench", "v2", "--items", "2-6", "--splits", str(table))
    text = run("compare_releases", "bench", "v1", "v2")
    assert "Added: #5, #6" in text and "Removed: #1" in text and "3 items are the same" in text
    assert json.loads(run("compare_releases", "bench", "v1", "v2", "--json"))["level"] == "major"
    for wrong, message in [
        (["--items", "x"], "no item number"),
        (["--splits", "no-such-file.csv"], "No such file"),
        (["--splits", "dev=1"], "make 1 %"),
        (["--version", "one"], "no semantic version"),
    ]:
        with pytest.raises(CommandError, match=message):
            run("cut_release", "bench", "v3", *wrong)
