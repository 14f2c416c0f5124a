"""The audit trail: what stands in it, for whom, filtered, by the page and as files, over the API."""

import csv
import datetime as dt
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import comment_actions
from annotation.activity import SENTENCES
from annotation.models import Item, ItemEvent
from annotation.states import State
from audit import actions, second_actions
from audit.models import BlindAudit, Release
from audit.override_actions import override_rule
from audit.second_queries import required_of
from audit.trail import GROUPS, Filters, Trail, group_of, read_filters
from audit.workflow import Move
from evaluation.models import Judge, Run, RunEvent, System
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Invalid
from tests.audit.judging import answer, bring_to, finish, fresh, submit, tick
from tests.factories import Team

ROOT = Path(__file__).resolve().parents[2]
FORMS = ("trail", "trail-csv", "trail-jsonl")


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


def address(name: str, *args: Any, **query: Any) -> str:
    return reverse(f"audit:{name}", args=["bench", *args], query=query)


def entries(team: Team, who: str = "core", item: Item | None = None, **filters: str) -> list[Any]:
    given = {"item" if name == "item_number" else name: value for name, value in filters.items()}
    return list(Trail(getattr(team, who), team.benchmark, read_filters(given), item).everything())


def kinds(found: list[Any]) -> list[str]:
    return [entry.kind for entry in found]


def body(reply: Any) -> str:
    return b"".join(reply).decode() if reply.streaming else reply.content.decode()


# --- what stands in it --------------------------------------------------------------------------------------------


def test_item_trail_tells_every_tick_answer_move_and_override_with_its_revision(team: Team, secondary: Item) -> None:
    tick(secondary, team.aud, "c1")
    tick(secondary, team.aud, "c1", supported=False)
    answer(secondary, team.aud, "chain", passed=False, comment="c3 can be skipped")
    finish(secondary, team.aud, Move.RETURN, "Mend c3")
    override_rule(fresh(secondary), "gradeability", "The judge is away", actor=team.admin)
    found = entries(team, item=fresh(secondary))
    assert kinds(found)[:6] == [
        "rule.overridden",
        "item.returned",
        "criterion.recorded",
        "element.ticked",
        "element.ticked",
        "review.started",
    ]
    assert found[-1].kind == "item.created"
    _override, returned, answered, second_tick, first_tick, *_rest = found
    assert dict(returned.details)["reason"] == "Mend c3"
    assert dict(returned.details)["to"] == "returned"
    assert "skipped" in dict(answered.details)["criterion"]
    assert answered.facts == {"criterion": "chain", "passed": False, "rating": 2, "note": "c3 can be skipped"}
    assert (first_tick.facts["supported"], second_tick.facts["supported"]) == (True, False)
    assert first_tick.words == f"bench-aud ticked c1 of #{secondary.number}"
    assert {entry.revision for entry in found[:5]} == {fresh(secondary).revision_number}


def test_moves_by_the_system_stand_under_nobody(team: Team, secondary: Item) -> None:
    finish(secondary, team.aud, Move.RETURN, "Say more")
    submit(secondary)  # phase 1 was passed before
    assert fresh(secondary).state == State.SECONDARY_AUDIT
    [passed] = entries(team, item=fresh(secondary), person="*")
    assert (passed.kind, passed.actor) == ("item.passed", None)
    assert passed.words.startswith("The system")


def test_benchmark_trail_merges_runs_by_time(team: Team) -> None:
    item = team.item()
    run = make_run(team)
    RunEvent.objects.create(run=run, actor=team.admin, kind="run.launched", data={"items": 3})
    comment_actions.add_comment(item, "Why?", actor=team.ann2)
    found = entries(team)
    assert kinds(found)[:3] == ["comment.added", "run.launched", "item.created"]
    assert found[1].words == "bench-admin launched the run: 3 items"
    assert (found[1].about, found[1].url) == ("run 1", "/b/bench/runs/1/")
    assert kinds(entries(team, group="runs")) == ["run.launched"]
    assert "run.launched" not in kinds(entries(team, item=item))
    assert "run.launched" not in kinds(entries(team, group="talk")) + kinds(entries(team, item_number="1"))


def make_run(team: Team) -> Run:
    """As far as an event needs one."""
    endpoint = Endpoint.objects.create(name="e", base_url="http://127.0.0.1:9/v1")
    by = {"benchmark": team.benchmark, "created_by": team.admin}
    model = {"endpoint": endpoint, "model": "m", "family": "f"}
    judge = Judge.objects.create(name="j", **model, **by)
    return Run.objects.create(
        benchmark=team.benchmark,
        number=1,
        release=Release.objects.create(name="v0", audited=False, item_count=0, **by),
        system=System.objects.create(name="s", group="tool_free_vlm", **model, **by),
        main_judge=judge,
        item_count=0,
        launched_by=team.admin,
    )


def test_every_kind_that_the_code_writes_has_words_and_one_group() -> None:
    written: set[str] = set()
    for path in [*ROOT.glob("annotation/*.py"), *ROOT.glob("audit/*.py")]:
        written |= set(re.findall(r'(?:kind=|actor, |_tell\(\w+, )"([a-z_]+\.[a-z_]+)"', path.read_text()))
    assert len(written) > 40
    assert written - set(SENTENCES) == set()
    for kind in SENTENCES:
        noun = kind.partition(".")[0] + "."
        assert sum(kind in named or noun in named for _label, named in GROUPS.values()) == 1, kind
        assert group_of(kind) in GROUPS


# --- filters and pages --------------------------------------------------------------------------------------------


def test_filters_narrow_by_group_person_day_and_item(team: Team, secondary: Item) -> None:
    other = team.item(author=team.ann2)
    tick(secondary, team.aud, "c1")
    assert kinds(entries(team, group="judging", person="bench-aud")) == ["element.ticked", "review.started"]
    assert {entry.actor for entry in entries(team, person="bench-ann2")} == {team.ann2}
    assert kinds(entries(team, item_number=f"#{other.number}")) == ["item.created"]
    today = timezone.localdate()
    assert entries(team, since=today.isoformat(), until=today.isoformat()) == entries(team)
    assert entries(team, since=(today + dt.timedelta(days=1)).isoformat()) == []
    assert entries(team, until=(today - dt.timedelta(days=1)).isoformat()) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("since", "yesterday"), ("until", "0001-01-01"), ("until", "9999-12-31"), ("item", "x"), ("group", "y")],
)
def test_filter_when_it_means_nothing_is_named(team: Team, field: str, value: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_filters({field: value})
    assert [problem["path"] for problem in refused.value.details["problems"]] == [field]
    client = team.client("ann")
    page = client.get(address("trail", **{field: value}))
    assert page.status_code == 422
    assert refused.value.details["problems"][0]["message"] in body(page)
    assert client.get(address("trail-csv", **{field: value})).status_code == 422
    assert client.get(reverse("api-trail", args=["bench"]), {field: value}).status_code == 422


def test_pages_go_on_without_gap_or_repetition(team: Team) -> None:
    item = team.item()
    run = make_run(team)
    for n in range(4):
        comment_actions.add_comment(item, f"{n}", actor=team.ann2)
        RunEvent.objects.create(run=run, actor=None, kind="run.finished", data={"completed": n})
    trail = Trail(team.core, team.benchmark, Filters())
    whole = [entry.key for entry in trail.everything()]
    seen: list[str] = []
    before = ""
    while True:
        page, before = trail.page(before, size=3)
        seen += [entry.key for entry in page]
        if not before:
            break
    assert seen == whole
    assert [entry.key for entry in trail.page("no cursor", size=3)[0]] == whole[:3]


def test_page_with_any_number_of_events_asks_the_same_queries(
    team: Team, secondary: Item, django_assert_max_num_queries: Any
) -> None:
    client = team.client("core")
    counts = []
    for _more in range(2):
        found = []
        for name, args in (("trail", []), ("item-trail", [secondary.number])):
            with django_assert_max_num_queries(15) as asked:
                assert client.get(address(name, *args)).status_code == 200
            found.append(len(asked))
        with django_assert_max_num_queries(8) as asked:
            body(client.get(address("trail-jsonl")))
        counts.append([*found, len(asked)])
        for element in ("c1", "c2", "c3", "c4", "n1", "n2", "answer"):
            tick(secondary, team.aud, element)
    assert counts[0] == counts[1]


# --- who sees it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["ann2", "aud", "core", "admin"])
def test_every_member_sees_it_and_takes_it_along(team: Team, secondary: Item, who: str) -> None:
    client = team.client(who)
    for form in FORMS:
        assert "submitted" in body(client.get(address(form)))
        assert "submitted" in body(client.get(address(f"item-{form}", secondary.number)))
    for reply in (
        client.get(reverse("api-trail", args=["bench"])),
        client.get(reverse("api-item-trail", args=["bench", secondary.number])),
    ):
        assert "item.submitted" in [event["kind"] for event in reply.json()["events"]]


def test_stranger_finds_no_trace(team: Team, secondary: Item) -> None:
    client = team.client("stranger")
    for form in FORMS:
        assert client.get(address(form)).status_code == 404
        assert client.get(address(f"item-{form}", secondary.number)).status_code == 404
    assert client.get(reverse("api-trail", args=["bench"])).status_code == 404
    assert client.get(reverse("api-item-trail", args=["bench", secondary.number])).status_code == 404


def test_who_audits_blind_sees_nothing_of_the_item_until_the_end(team: Team) -> None:
    item = bring_to(team, team.item(), State.LOCKED)
    other = team.item()
    [audit] = second_actions.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    second_actions.take_blind_audit(audit, actor=team.admin)
    client = team.client("admin")
    for form in FORMS:
        assert client.get(address(f"item-{form}", item.number)).status_code == 403
    assert client.get(reverse("api-item-trail", args=["bench", item.number])).status_code == 403
    assert {entry.item for entry in entries(team, "admin")} == {other.number, None}
    assert entries(team, "admin", item_number=str(item.number)) == []
    lines = body(client.get(address("trail-jsonl"))).splitlines()
    assert item.number not in {json.loads(line)["item"] for line in lines}
    assert f"Left out is item #{item.number}: you audit it blind" in body(client.get(address("trail")))
    reply = client.get(reverse("api-trail", args=["bench"])).json()
    assert reply["left_out"] == [item.number]
    assert item.number not in [event["item"] for event in reply["events"]]
    end(team, audit)
    assert item.number in {entry.item for entry in entries(team, "admin")}


def test_first_auditor_learns_of_a_second_audit_only_when_it_ended_and_never_what_was_answered(
    team: Team, secondary: Item
) -> None:
    [audit] = second_actions.ask_double_audits(team.benchmark, [secondary.number], actor=team.core)
    second_actions.take_blind_audit(audit, actor=team.admin)
    for found in (entries(team, "aud"), entries(team, "aud", item=fresh(secondary))):
        assert not [kind for kind in kinds(found) if kind.startswith("blind_audit.")]
    assert "blind_audit.asked" in kinds(entries(team, "core", item=fresh(secondary)))  # it asked itself
    assert "second audit" not in body(team.client("aud").get("/b/bench/"))
    end(team, audit)
    found = [entry for entry in entries(team, "aud", group="second") if entry.kind == "blind_audit.answered"]
    assert len(found) == len(required_of(team.benchmark))
    assert {(entry.item, entry.revision) for entry in found} == {(secondary.number, fresh(secondary).revision_number)}
    assert all(entry.facts == {} for entry in found)


def end(team: Team, audit: BlindAudit) -> None:
    for criterion in required_of(team.benchmark):
        second_actions.record_blind_result(audit, criterion, rating=2, passed=False, comment="No", actor=team.admin)
    second_actions.finish_blind_audit(audit, actor=team.admin)


# --- page, files, API ---------------------------------------------------------------------------------------------


def test_files_hold_what_the_page_holds_filtered_and_no_formula(team: Team, secondary: Item) -> None:
    tick(secondary, team.aud, "c1")
    actions.tick_element(
        fresh(secondary), "c2", secondary.document_hash, supported=False, comment="=HYPERLINK(1)", actor=team.aud
    )
    client = team.client("ann")
    wanted = {"group": "judging", "person": "bench-aud"}
    rows = [json.loads(line) for line in body(client.get(address("trail-jsonl", **wanted))).splitlines()]
    assert [(row["kind"], row["actor"], row["item"]) for row in rows] == [
        ("element.ticked", "bench-aud", secondary.number),
        ("element.ticked", "bench-aud", secondary.number),
        ("review.started", "bench-aud", secondary.number),
    ]
    assert rows[0]["facts"] == {"element": "c2", "supported": False, "note": "=HYPERLINK(1)"}
    reply = client.get(address("item-trail-csv", secondary.number, **wanted))
    assert reply.streaming and "attachment" in reply["Content-Disposition"]
    [head, *lines] = csv.reader(io.StringIO(body(reply).removeprefix("\ufeff")))
    assert [line[head.index("id")] for line in lines] == [row["id"] for row in rows]
    assert lines[0][head.index("details")] == "supported: no; note: =HYPERLINK(1)"


def test_texts_that_somebody_took_back_are_not_told(team: Team) -> None:
    item = team.item()
    comment = comment_actions.add_comment(item, "A secret slip", actor=team.ann2)
    comment_actions.edit_comment(comment, "Fine", actor=team.ann2)
    assert "comment.edited" in kinds(entries(team))
    for form in FORMS:
        assert "secret slip" not in body(team.client("ann").get(address(form)))


def test_api_pages_by_next(team: Team, secondary: Item) -> None:
    event = {"benchmark": team.benchmark, "item": secondary, "actor": team.aud, "kind": "element.ticked"}
    ItemEvent.objects.bulk_create(ItemEvent(**event, data={"element": "c1"}) for _n in range(150))
    client = team.client("ann")
    wanted = {"group": "judging", "person": "bench-aud"}
    first = client.get(reverse("api-item-trail", args=["bench", secondary.number]), wanted).json()
    second = client.get(first["next"]).json()
    assert (len(first["events"]), len(second["events"]), second["next"]) == (100, 50, None)
    assert not {event["id"] for event in first["events"]} & {event["id"] for event in second["events"]}


def test_page_when_empty_says_what_it_is_for(team: Team, secondary: Item) -> None:
    page = body(team.client("ann").get(address("item-trail", secondary.number, group="errata")))
    assert "No event of this kind" in page and "Nothing is ever taken out" in page


def test_links_lead_to_it(team: Team, secondary: Item) -> None:
    own = address("item-trail", secondary.number)
    assert own in body(team.client("ann").get(f"/b/bench/items/{secondary.number}/?panel=history"))
    assert own in body(team.client("aud").get(f"/b/bench/items/{secondary.number}/audit/"))
    assert f'"{address("trail")}"' in body(team.client("aud").get("/b/bench/audit/"))
    assert f'"{address("trail")}"' in body(team.client("admin").get("/b/bench/settings/"))
