"""Home pages: my work, progress, activity, first steps; and the guide."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, benchmark_actions, comment_actions, listing, notices
from annotation.activity import words_of
from annotation.models import Category, Item, ItemEvent
from annotation.states import Role, State
from tests.documents import good_document
from tests.factories import Team, make_team

DOCS = Path(__file__).resolve().parents[2] / "docs"


def put(item: Item, **columns: Any) -> None:
    Item.objects.filter(pk=item.pk).update(**columns)


def test_home_shows_what_waits_for_me_over_all_my_benchmarks(team: Team) -> None:
    other = make_team("other")
    benchmark_actions.set_membership(other.benchmark, team.ann, Role.ANNOTATOR, actor=other.root)
    returned = team.item(replace(good_document(question="Which ferry was renamed?"), id="a"))
    put(returned, state=State.RETURNED)
    draft = other.item(replace(good_document(question="Which lighthouse was moved?"), id="b"), author=team.ann)
    comment_actions.add_comment(draft, "Is step 3 needed?", actor=other.aud, anchor="c3", blocking=True)
    text = team.client("ann").get("/").content.decode()
    assert "Which ferry was renamed?" in text and "Which lighthouse was moved?" in text
    assert "Is step 3 needed?" in text and "blocking" in text
    assert 'href="/b/other/items/1/?panel=comments&amp;show=all#comment-' in text


def test_home_shows_nothing_of_a_benchmark_that_one_left(team: Team) -> None:
    team.item(replace(good_document(question="Which ferry was renamed?"), id="a"))
    benchmark_actions.set_membership(team.benchmark, team.ann, None, actor=team.root)
    text = team.client("ann").get("/").content.decode()
    assert "Which ferry" not in text and "/b/bench/" not in text
    assert "You are in no benchmark yet" in text


def test_my_work_holds_items_of_coeditors_and_not_of_others(team: Team) -> None:
    item = team.item()
    assert listing.drafts_of(team.ann2, [team.benchmark]).total == 0
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    assert [i.pk for i in listing.drafts_of(team.ann2, [team.benchmark]).rows] == [item.pk]
    put(item, state=State.RETURNED)
    assert listing.drafts_of(team.ann, [team.benchmark]).total == 0
    assert listing.returned_to(team.ann, [team.benchmark]).total == 1


def test_my_work_counts_more_than_it_shows(team: Team) -> None:
    for n in range(10):
        team.item(replace(good_document(), id=f"item-{n}"))
    work = listing.drafts_of(team.ann, [team.benchmark])
    assert (work.total, len(work.rows)) == (10, listing.SHOWN)


def test_comments_to_me_are_open_ones_by_others_on_mine_or_in_my_thread(team: Team) -> None:
    item, foreign = team.item(), team.item(replace(good_document(), id="x"), author=team.ann2)
    asked = comment_actions.add_comment(item, "asked", actor=team.aud)
    comment_actions.add_comment(item, "my own", actor=team.ann)
    mine = comment_actions.add_comment(foreign, "my question", actor=team.ann)
    comment_actions.add_comment(foreign, "an answer to me", actor=team.ann2, parent=mine)
    comment_actions.add_comment(foreign, "of no concern", actor=team.aud)

    def bodies() -> list[str]:
        rows = notices.addressed_to(team.ann, [team.benchmark]).filter(done=None)
        return [row.comment.body for row in rows if row.comment]

    assert bodies() == ["an answer to me", "asked"]
    comment_actions.resolve_comment(asked, actor=team.aud)
    comment_actions.resolve_comment(mine, actor=team.ann)
    assert bodies() == []


@pytest.mark.parametrize("path", ["/", "/b/bench/"])
def test_home_pages_keep_to_their_budget_and_read_no_document(team: Team, path: str) -> None:
    for n in range(12):
        item = team.item(replace(good_document(), id=f"item-{n}"))
        comment_actions.add_comment(item, "Why?", actor=team.aud)
        put(item, state=State.RETURNED if n % 2 else State.DRAFT)
    client = team.client("ann")
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200
    assert len(queries) <= 18, [q["sql"][:90] for q in queries]
    assert not [q["sql"] for q in queries if '"document"' in q["sql"]]


def test_benchmark_home_when_empty_names_the_first_steps(team: Team) -> None:
    assert "Add the members" in team.client("admin").get("/b/bench/").content.decode()
    text = team.client("ann").get("/b/bench/").content.decode()
    assert "First steps" in text and "Add the members" not in text
    team.item()
    assert "First steps" not in team.client("ann").get("/b/bench/").content.decode()


def test_benchmark_home_renders_the_guideline_and_nothing_active(team: Team) -> None:
    changes = {"guideline": "# Rules\n\n**Short** answers. <script>alert(1)</script>"}
    benchmark_actions.change_benchmark(team.benchmark, changes, actor=team.admin)
    text = team.client("ann").get("/b/bench/").content.decode()
    assert "<strong>Short</strong>" in text and "<script>alert" not in text


@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("admin", 200), ("stranger", 404), ("root", 200)])
def test_benchmark_home_by_role(team: Team, who: str, status: int) -> None:
    assert team.client(who).get("/b/bench/").status_code == status


def test_category_progress_counts_locked_and_coming_against_target(team: Team) -> None:
    states = [State.LOCKED, State.LOCKED, State.APPROVED, State.SUBMITTED, State.DRAFT, State.REJECTED]
    for n, state in enumerate(states):
        put(team.item(replace(good_document(), id=f"item-{n}")), state=state, category="media")
    put(team.item(replace(good_document(), id="odd")), state=State.LOCKED, category="odd-one")
    Category.objects.filter(benchmark=team.benchmark, slug="media").update(target=5)
    rows = {row.slug: row for row in listing.category_progress(team.benchmark)}
    media = rows["media"]
    # Two locked; approved and submitted are on their way; three short of five.
    # The target is the widest bar, its mark just inside.
    assert (media.locked, media.coming, media.short, media.target_at) == (2, 2, 3, "98.50%")
    assert (media.locked_width, media.coming_width) == ("40.00%", "40.00%")
    assert (rows["odd-one"].locked, rows["people"].locked) == (1, 0)


def test_weekly_locked_counts_by_week_with_this_one_last(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    item = team.item()
    # A Wednesday; its week began on Monday the 9th.
    now = dt.datetime(2026, 11, 11, 12, tzinfo=dt.UTC)
    days = [(11, 11), (11, 9), (11, 8), (8, 1)]  # this week, this Monday, last Sunday, long ago
    for month, day in days:
        monkeypatch.setattr(timezone, "now", lambda m=month, d=day: dt.datetime(2026, m, d, 12, tzinfo=dt.UTC))
        ItemEvent.objects.create(benchmark=team.benchmark, item=item, actor=team.core, kind="item.locked")
    monkeypatch.setattr(timezone, "now", lambda: now)
    weeks = listing.weekly_locked(team.benchmark)
    assert [w.locked for w in weeks] == [0] * 10 + [1, 2]
    assert (weeks[-1].monday, weeks[0].monday) == (dt.date(2026, 11, 9), dt.date(2026, 8, 24))
    # The highest bar has 60 units and the other half of them.
    assert [(w.height, w.y) for w in weeks[-2:]] == [(30, 50), (60, 20)]


def test_activity_says_who_did_what_and_links_the_item(team: Team) -> None:
    item = team.item()
    comment_actions.add_comment(item, "Hm.", actor=team.aud)
    newest, created = listing.activity([team.benchmark], team.ann)[:2]
    assert words_of(newest) == 'bench-aud commented on <a class="wb-u" href="/b/bench/items/1/">#1</a>'
    assert words_of(created).startswith("bench-ann created ")


@pytest.mark.parametrize("data", [{}, {"section": "<b>x</b>"}])
def test_activity_of_odd_data_or_an_unknown_kind_is_shown_plainly(team: Team, data: dict[str, Any]) -> None:
    item = team.item()
    for kind in ("item.edited", "item.teleported"):
        event = ItemEvent.objects.create(benchmark=team.benchmark, item=item, actor=None, kind=kind, data=data)
        words = words_of(event)
        assert words.startswith("The system") and "#1" in words and "<b>" not in words


def test_every_kind_of_event_that_the_code_writes_has_a_sentence() -> None:
    import re

    from annotation.activity import SENTENCES

    root = DOCS.parent
    kinds: set[str] = set()
    for path in [*root.glob("annotation/*actions.py"), root / "audit/actions.py"]:
        nouns = "item|items|benchmark|membership|comment|suggestion|finding|review|criterion|release|annotator"
        kinds |= set(re.findall(rf'"((?:{nouns})\.[a-z_]+)"', path.read_text()))
    assert len(kinds) > 20
    assert kinds - set(SENTENCES) == set()


@pytest.mark.parametrize("name", ["", "index/", "items/", "commands/", "checks/", "formats/", "api/"])
def test_help_renders_the_pages_of_the_docs(team: Team, name: str) -> None:
    reply = team.client("stranger").get(f"/help/{name}")
    assert reply.status_code == 200 and "Contents" in reply.content.decode()


def test_help_links_lead_to_pages_of_the_guide(team: Team) -> None:
    text = team.client("ann").get("/help/").content.decode()
    assert 'href="/help/items/"' in text and 'href="/help/checks/"' in text and '.md"' not in text


@pytest.mark.parametrize("name", ["nowhere", "0001-document-as-the-truth", "README"])
def test_help_of_another_name_does_not_exist(team: Team, name: str) -> None:
    assert team.client("ann").get(f"/help/{name}/").status_code == 404


@pytest.mark.parametrize(
    "path", ["/", "/help/", "/b/bench/", "/b/bench/items/", "/b/bench/settings/", "/benchmarks/new/"]
)
def test_pages_without_log_in_lead_to_it(team: Team, path: str) -> None:
    reply = Client().get(path)
    assert reply.status_code == 302 and reply["Location"].startswith("/login/")


@pytest.mark.parametrize(("who", "shown"), [("ann", False), ("aud", True), ("core", True)])
def test_home_leads_those_who_audit_to_the_queue(team: Team, who: str, shown: bool) -> None:
    put(team.item(), state=State.SUBMITTED)
    text = team.client(who).get("/").content.decode()
    assert ("Audit queue (1 in audit)" in text) is shown
