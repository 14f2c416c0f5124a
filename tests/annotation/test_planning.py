"""Planning: who has an item and by when, examples, targets and coverage, the guideline's versions, ideas for items."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, assignment_actions, benchmark_actions, planning, seed_actions
from annotation.document import empty_document, read_document
from annotation.models import Benchmark, Item, ItemEvent, Notice, Seed
from annotation.states import State
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.annotation.pages import HTMX, texts, url
from tests.factories import Team, make_team

TODAY = timezone.localdate


@pytest.fixture
def team(db: Any) -> Team:
    return make_team()


def fresh(item: Item) -> Item:
    return Item.objects.select_related("benchmark", "author").get(pk=item.pk)


def in_state(item: Item, state: State) -> Item:
    Item.objects.filter(pk=item.pk).update(state=state.value)
    return fresh(item)


def last_event(kind: str) -> Any:
    return ItemEvent.objects.filter(kind=kind).order_by("-pk").first()


# --- who audits it, by when, whose it is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("aud", 403), ("core", 200), ("admin", 200), ("stranger", 404)]
)
@pytest.mark.parametrize("path", ["assignment/", "author/", "golden/"])
def test_people_by_role(team: Team, who: str, status: int, path: str) -> None:
    item = in_state(team.item(), State.APPROVED)
    data = {
        "auditor": team.aud.username,
        "due": "2030-01-02",
        "author": team.ann2.username,
        "golden": "on",
        "note": "x",
    }
    reply = team.client(who).post(url(item, path), data, **HTMX)
    assert reply.status_code == status
    changed = fresh(item)
    done = (changed.auditor_id, changed.author_id, changed.is_golden) != (None, item.author_id, False)
    assert done is (status == 200)
    assert team.client(who).get(url(item, path)).status_code == 405


def test_assigned_auditor_is_told_and_shown_and_due(team: Team) -> None:
    item = in_state(team.item(), State.SECONDARY_AUDIT)
    day = TODAY() + dt.timedelta(days=3)
    reply = team.client("core").post(
        url(item, "assignment/"), {"auditor": team.aud.username, "due": day.isoformat()}, **HTMX
    )
    assert f"Auditor: {team.aud.username}. due in 3 days." in texts(reply.content.decode()).replace(" .", ".")
    assert last_event("item.assigned").data == {"auditor": team.aud.username, "due": day.isoformat(), "revision": 1}
    assert Notice.objects.filter(user=team.aud, kind=Notice.Kind.ASSIGNED, item=item).count() == 1
    home = texts(team.client("aud").get("/b/bench/").content.decode())
    assert "Due soon" in home and "due in 3 days · to audit" in home
    assert "Due soon" not in texts(team.client("ann2").get("/b/bench/").content.decode())
    for query, total in (
        (f"auditor={team.aud.username}", 1), ("due=soon", 1), ("due=overdue", 0),
    ):  # fmt: skip
        assert team.client("ann").get(f"/b/bench/items/?{query}").context["page"].total == total


def test_queue_shows_first_what_one_was_asked_for_and_marks_what_is_late(team: Team) -> None:
    items = [in_state(team.item(), State.SECONDARY_AUDIT) for _n in range(3)]
    assignment_actions.assign_item(items[0], team.core, None, actor=team.core)
    assignment_actions.assign_item(items[2], team.aud, TODAY() - dt.timedelta(days=2), actor=team.core)
    page = team.client("aud").get("/b/bench/audit/")
    shown = [getattr(row, "item", row).number for row in page.context["rows"]]
    assert sorted(shown) == [item.number for item in items]
    text = texts(page.content.decode())
    assert "asked of you" in text and "overdue by 2 days" in text and f"asked of {team.core.username}" in text


@pytest.mark.parametrize("who", ["ann", "ann2", "coeditor"])
def test_auditor_who_may_not_audit_it_is_refused(team: Team, who: str) -> None:
    item = team.item()
    if who == "coeditor":
        actions.set_coeditors(item, [team.aud], actor=team.ann)
    with pytest.raises(Invalid):
        person = team.aud if who == "coeditor" else getattr(team, who)
        assignment_actions.assign_item(item, person, None, actor=team.core)
    assert fresh(item).auditor is None


def test_assigned_auditor_becomes_neither_coeditor_nor_author(team: Team) -> None:
    item = team.item()
    assignment_actions.assign_item(item, team.aud, None, actor=team.core)
    with pytest.raises(Invalid, match="is to audit this item"):
        actions.set_coeditors(item, [team.aud], actor=team.ann)
    with pytest.raises(Invalid, match="is to audit this item"):
        assignment_actions.hand_over_item(item, team.aud, actor=team.core)


def test_handed_over_item_keeps_its_former_author_out_of_the_audit(team: Team) -> None:
    item = team.item(author=team.aud)
    actions.set_coeditors(item, [team.ann2], actor=team.aud)
    assignment_actions.hand_over_item(item, team.ann2, actor=team.core)
    item = fresh(item)
    assert item.author == team.ann2 and list(item.coeditors.all()) == [team.aud]
    with pytest.raises(Invalid, match="nobody audits their own"):
        assignment_actions.assign_item(item, team.aud, None, actor=team.core)
    with pytest.raises(Invalid, match="no active member"):
        assignment_actions.hand_over_item(item, team.stranger, actor=team.core)


@pytest.mark.parametrize(
    "data", [{"due": "tomorrow"}, {"due": "2026-02-31"}, {"auditor": "nobody\x00"}, {"due": "9" * 99}]
)
def test_bad_assignment_is_refused_with_a_sentence_and_nothing_saved(team: Team, data: dict[str, str]) -> None:
    item = team.item()
    for options in ({}, HTMX):
        reply = team.client("core").post(url(item, "assignment/"), data, **options)
        assert reply.status_code in (400, 422)
    assert (fresh(item).auditor, fresh(item).due) == (None, None)


@pytest.mark.parametrize("state", [State.LOCKED, State.REJECTED])
def test_finished_item_is_assigned_to_nobody_any_more(team: Team, state: State) -> None:
    item = in_state(team.item(), state)
    for write in (
        lambda: assignment_actions.assign_item(item, team.aud, None, actor=team.core),
        lambda: assignment_actions.hand_over_item(item, team.ann2, actor=team.core),
    ):
        with pytest.raises(NotAllowed):
            write()


# --- golden examples ----------------------------------------------------------------------------------------------


def test_golden_example_stands_beside_an_empty_draft_and_in_the_list(team: Team) -> None:
    item = in_state(team.item(), State.LOCKED)
    assignment_actions.mark_golden(item, True, " merging  branches ", actor=team.core)
    draft = actions.create_item(team.benchmark, actor=team.ann, document=empty_document("empty"))
    for address in (url(draft), "/b/bench/golden/"):
        text = texts(team.client("ann").get(address).content.decode())
        assert "merging branches · " in text and "its checklist drawn" in text
    assert "merging branches" not in texts(team.client("ann").get(url(team.item())).content.decode())
    assignment_actions.mark_golden(item, False, actor=team.core)
    assert "No example yet" in texts(team.client("ann").get("/b/bench/golden/").content.decode())
    assert last_event("item.no_longer_golden")


def test_golden_needs_the_audit_and_a_note(team: Team) -> None:
    draft = team.item()
    with pytest.raises(NotAllowed):
        assignment_actions.mark_golden(draft, True, "x", actor=team.core)
    approved = in_state(team.item(), State.APPROVED)
    for note in (" ", "x" * 301):
        with pytest.raises(Invalid):
            assignment_actions.mark_golden(approved, True, note, actor=team.core)


# --- coverage and targets -----------------------------------------------------------------------------------------

PAGES = ("coverage/", "guideline/", "golden/", "ideas/")


@pytest.mark.parametrize("place", PAGES)
@pytest.mark.parametrize(("who", "status"), [("ann", 200), ("aud", 200), ("admin", 200), ("stranger", 404)])
def test_pages_of_planning_by_role(team: Team, place: str, who: str, status: int) -> None:
    assert team.client(who).get(f"/b/bench/{place}").status_code == status


def test_coverage_counts_against_targets_and_names_what_is_missing_most(team: Team) -> None:
    category = read_document(team.item().document).category or ""
    (
        in_state(team.item(), State.LOCKED),
        in_state(team.item(), State.FACTUAL_AUDIT),
        in_state(team.item(), State.REJECTED),
    )
    client = team.client("admin")
    data = {f"target-category-{category}": "5", "target-template-linear": "2", "target-tag-symbolic": ""}
    assert client.post("/b/bench/coverage/", data).status_code == 302
    groups = planning.coverage(Benchmark.objects.get(pk=team.benchmark.pk))
    row = next(row for row in groups["category"] if row.slug == category)
    assert (row.locked, row.coming, row.drafts, row.target, row.missing, row.short) == (1, 1, 1, 5, 3, 4)
    assert next(row for row in groups["template"] if row.slug == "linear").target == 2
    text = texts(team.client("ann").get("/b/bench/coverage/").content.decode())
    assert f"Missing most: {row.name} (3 more to write)" in text.replace(" (", " (")
    assert "Save targets" not in text
    assert last_event("benchmark.targeted").data["changed"][f"category {category}"] == [None, 5]


@pytest.mark.parametrize("value", ["-1", "many", "9" * 30, "1000001", "1.5"])
def test_target_that_is_no_number_is_refused_with_all_that_was_typed(team: Team, value: str) -> None:
    reply = team.client("admin").post(
        "/b/bench/coverage/", {"target-category-media": value, "target-category-people": "7"}
    )
    html = reply.content.decode()
    assert reply.status_code == 422 and "The target of Media must be a whole number" in html and 'value="7"' in html
    assert not team.benchmark.categories.exclude(target=None).exists()


def test_targets_are_the_admins(team: Team) -> None:
    assert team.client("core").post("/b/bench/coverage/", {"target-category-media": "1"}).status_code == 403


def test_new_item_in_a_category_has_it(team: Team) -> None:
    client = team.client("ann")
    assert client.post("/b/bench/items/new/", {"category": "media"}).status_code == 302
    assert Item.objects.get().category == "media"
    assert client.post("/b/bench/items/new/", {"category": "nonsense"}).status_code == 422


@pytest.mark.parametrize("place", PAGES)
def test_pages_of_planning_take_few_queries_however_much_there_is(team: Team, place: str) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert team.client("aud").get(f"/b/bench/{place}").status_code == 200
        return len(found)

    lines = seed_actions.seeds_in("\n".join(f"Idea {n} https://a.example/{n}" for n in range(20)))
    seeds = seed_actions.add_seeds(team.benchmark, lines[:1], actor=team.ann)
    seed_actions.claim_seed(seeds[0], actor=team.ann2)
    assignment_actions.mark_golden(in_state(team.item(), State.LOCKED), True, "x", actor=team.core)
    benchmark_actions.save_guideline(team.benchmark, "One", 0, actor=team.admin)
    before = queries()
    for seed in seed_actions.add_seeds(team.benchmark, lines[1:], actor=team.ann)[::2]:
        seed_actions.claim_seed(seed, actor=team.ann2)
    for n in range(4):
        assignment_actions.mark_golden(in_state(team.item(), State.LOCKED), True, "x", actor=team.core)
        benchmark_actions.save_guideline(team.benchmark, f"Two {n}", n + 1, actor=team.admin)
    assert queries() <= before <= 28


# --- guideline ----------------------------------------------------------------------------------------------------


def test_guideline_is_versioned_compared_and_restored(team: Team) -> None:
    client = team.client("admin")
    benchmark_actions.change_benchmark(team.benchmark, {"guideline": "Be *short*."}, actor=team.root)
    first = client.get("/b/bench/guideline/")
    assert "<em>short</em>" in first.content.decode()
    data = {"text": "Be *brief*.\r\nAlways.", "message": "Clearer", "base": str(first.context["newest"])}
    assert client.post("/b/bench/guideline/", data).status_code == 302
    compared = team.client("ann").get("/b/bench/guideline/?from=1&to=2").content.decode()
    assert "<del>" in compared and "<ins>" in compared and "Clearer" in compared
    # saved from the same version by somebody else: nothing is lost, and it is said
    late = client.post("/b/bench/guideline/", {"text": "Mine", "base": "1"})
    assert late.status_code == 409 and "Mine" in late.content.decode()
    assert client.post("/b/bench/guideline/restore/", {"number": "1", "base": "2"}).status_code == 302
    benchmark = Benchmark.objects.get(pk=team.benchmark.pk)
    assert benchmark.guideline == "Be *short*."
    assert [v.message for v in benchmark.guideline_versions.all()] == ["Restored version 1", "Clearer", ""]
    assert "Be <em>brief</em>" in client.get("/b/bench/guideline/?version=2").content.decode()
    for query in ("version=9", "version=x", f"version={'9' * 18}", "from=1&to=77", "from=1"):
        assert client.get(f"/b/bench/guideline/?{query}").status_code == 404


def test_guideline_from_before_versions_becomes_the_first(team: Team) -> None:
    Benchmark.objects.filter(pk=team.benchmark.pk).update(guideline="Old")
    benchmark_actions.save_guideline(team.benchmark, "New", 0, actor=team.admin)
    assert [(v.number, v.text) for v in team.benchmark.guideline_versions.all()] == [(2, "New"), (1, "Old")]


def test_guideline_is_the_admins_to_write(team: Team) -> None:
    for who in ("ann", "core"):
        client = team.client(who)
        assert client.get("/b/bench/guideline/?edit").status_code == 403
        assert client.post("/b/bench/guideline/", {"text": "x", "base": "0"}).status_code == 403
        assert client.post("/b/bench/guideline/restore/", {"number": "1"}).status_code == 403
        assert "?edit" not in client.get("/b/bench/guideline/").content.decode()
    assert team.client("stranger").post("/b/bench/guideline/", {"text": "x"}).status_code == 404


@pytest.mark.parametrize(
    "data", [{}, {"text": "x"}, {"text": "x", "base": "y"}, {"text": "x", "base": "0", "message": "m" * 301}]
)
def test_guideline_form_that_lacks_something_is_refused(team: Team, data: dict[str, str]) -> None:
    assert team.client("admin").post("/b/bench/guideline/", data).status_code == 422
    assert not team.benchmark.guideline_versions.exists()


# --- ideas --------------------------------------------------------------------------------------------------------


def idea(team: Team, **fields: str) -> Seed:
    return seed_actions.add_seeds(team.benchmark, [{"title": "A strange logo", **fields}], actor=team.ann)[0]


def act(team: Team, who: str, seed: Seed, act: str, **more: str) -> Any:
    return team.client(who).post(f"/b/bench/ideas/{seed.pk}/", {"act": act, **more})


def test_ideas_are_added_one_by_one_and_pasted(team: Team) -> None:
    client = team.client("ann")
    assert (
        client.post(
            "/b/bench/ideas/", {"title": "A logo", "url": "https://a.example/", "category": "media"}
        ).status_code
        == 302
    )
    lines = (
        "[The film](https://youtu.be/x)\n\nTwo records that meet https://b.example/1\nhttps://c.example/\nno address"
    )
    assert client.post("/b/bench/ideas/", {"lines": lines, "category": "people"}).status_code == 302
    assert [(s.title, s.url, s.category) for s in reversed(Seed.objects.all())] == [
        ("A logo", "https://a.example/", "media"),
        ("The film", "https://youtu.be/x", "people"),
        ("Two records that meet", "https://b.example/1", "people"),
        ("https://c.example/", "https://c.example/", "people"),
        ("no address", "", "people"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        {}, {"url": "https://a.example/"}, {"title": "x" * 201}, {"title": "x", "category": "nonsense"},
        {"title": "x", "body": "y" * 20_001}, {"lines": "x\n" * 201}, {"title": "x\x00"},
    ],
)  # fmt: skip
def test_bad_idea_is_refused_and_nothing_of_it_kept(team: Team, data: dict[str, str]) -> None:
    reply = team.client("ann").post("/b/bench/ideas/", data)
    assert reply.status_code in (400, 422)
    assert not Seed.objects.exists()


def test_of_two_who_claim_an_idea_one_gets_it_and_the_other_is_told_who(team: Team) -> None:
    seed = idea(team)
    stale = Seed.objects.get(pk=seed.pk)
    assert act(team, "ann2", seed, "claim").status_code == 302
    late = act(team, "aud", seed, "claim")
    assert late.status_code == 409 and f"{team.ann2.username} claimed this idea already." in late.content.decode()
    with pytest.raises(Conflict):
        seed_actions.claim_seed(stale, actor=team.core)
    assert act(team, "ann2", seed, "claim").status_code == 302  # a second click does no harm
    assert act(team, "aud", seed, "start").status_code == 409
    assert act(team, "aud", seed, "give_back").status_code == 403
    assert act(team, "ann2", seed, "give_back").status_code == 302
    seed.refresh_from_db()
    assert (seed.status, seed.claimed_by) == (Seed.Status.OPEN, None)


def test_item_started_from_an_idea_carries_it_and_both_are_linked(team: Team) -> None:
    seed = idea(team, body="Seen on a stamp.", url="https://en.wikipedia.org/wiki/Logo#x", category="media")
    act(team, "ann2", seed, "claim")
    reply = act(team, "ann2", seed, "start")
    item = Item.objects.get()
    assert reply["Location"] == url(item) and item.author == team.ann2
    document = read_document(item.document)
    assert document.category == "media" and "Seen on a stamp." in document.design
    assert [(s.url, s.kind) for s in document.sources] == [("https://en.wikipedia.org/wiki/Logo#x", "wikipedia")]
    assert f'href="/b/bench/ideas/?view=all#idea-{seed.pk}"' in team.client("ann").get(url(item)).content.decode()
    assert f"became #{item.number}" in texts(team.client("ann").get("/b/bench/ideas/?view=all").content.decode())
    assert act(team, "ann2", seed, "start").status_code == 409
    assert Item.objects.count() == 1


@pytest.mark.parametrize(("who", "status"), [("ann", 302), ("ann2", 403), ("core", 302), ("stranger", 404)])
def test_drop_by_role(team: Team, who: str, status: int) -> None:
    seed = idea(team)
    assert act(team, who, seed, "drop", reason="Known everywhere").status_code == status
    seed.refresh_from_db()
    assert (seed.status == Seed.Status.DROPPED) is (status == 302)


def test_drop_needs_a_reason_and_other_acts_are_none(team: Team) -> None:
    seed = idea(team)
    for data in ({"act": "drop"}, {"act": "drop", "reason": "x" * 301}, {"act": "eat"}, {}):
        assert team.client("ann").post(f"/b/bench/ideas/{seed.pk}/", data).status_code == 422
    assert team.client("ann").post("/b/bench/ideas/999999999999/", {"act": "claim"}).status_code == 404
    foreign = make_team("foreign")
    assert foreign.client("ann").post(f"/b/foreign/ideas/{seed.pk}/", {"act": "claim"}).status_code == 404


def test_ideas_are_paged_by_key_and_an_empty_inbox_teaches(team: Team) -> None:
    client = team.client("ann")
    assert "No idea yet" in client.get("/b/bench/ideas/").content.decode()
    for _part in range(2):
        seed_actions.add_seeds(team.benchmark, [{"title": f"Idea {n}"} for n in range(30)], actor=team.ann2)
    first = client.get("/b/bench/ideas/").context["page"]
    older = client.get(f"/b/bench/ideas/?before={first.older}").context["page"]
    assert (len(first.rows), len(older.rows), older.older) == (50, 10, 0)
    assert "None here" in client.get("/b/bench/ideas/?view=mine").content.decode()
    for query in ("before=x", f"before={'9' * 18}", "view=nonsense"):
        assert client.get(f"/b/bench/ideas/?{query}").status_code == 200
