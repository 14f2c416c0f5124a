"""A return names what to mend; the author answers each point; the auditor accepts or reopens each."""

import json
from typing import Any

import pytest
from django.urls import reverse

from annotation.actions import save_section
from annotation.document import read_document
from annotation.models import Item, ItemEvent
from annotation.states import State
from audit import actions
from audit.models import ReturnPoint, Transition
from audit.return_actions import answer_point, judge_point
from audit.return_queries import point_rows
from audit.workflow import Move
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.factories import Team

from .judging import answer_phase, bring_to, finish, fresh, submit

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}
POINTS = [
    {"text": "Reword the second sentence", "anchor": "question", "criterion": "path"},
    {"text": "Step 3 has the wrong year", "anchor": "c3", "criterion": ""},
    {"text": " ", "anchor": "", "criterion": ""},
]


@pytest.fixture
def returned(team: Team) -> Item:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    return finish(item, team.aud, Move.RETURN, "See the guideline", points=POINTS)


def points(item: Item) -> list[ReturnPoint]:
    return list(ReturnPoint.objects.filter(item=item))


def mend(team: Team, item: Item) -> Item:
    item = fresh(item)
    content = read_document(item.document).section("checklist")
    content["checklist"][2]["conclusion"] += " It was 1877."
    return save_section(item, "checklist", content, item.section_hashes["checklist"], actor=team.ann)


def resubmitted(team: Team, item: Item) -> Item:
    mend(team, item)
    first, second = points(item)
    answer_point(item, first.pk, "disputed", "It names nothing", actor=team.ann)
    answer_point(item, second.pk, "mended", actor=team.ann)
    return submit(item)


def test_return_keeps_the_points_and_spells_them_out_as_its_reason(team: Team, returned: Item) -> None:
    assert [(p.text, p.anchor, p.criterion, p.answer) for p in points(returned)] == [
        ("Reword the second sentence", "question", "path", "open"),
        ("Step 3 has the wrong year", "c3", "", "open"),
    ]
    sent = Transition.objects.get(item=returned, move="return")
    assert sent.reason == "1. Question: Reword the second sentence\n2. Step 3: Step 3 has the wrong year\n" \
        "See the guideline"  # fmt: skip


@pytest.mark.parametrize(
    ("point", "path"),
    [
        ({"text": "x", "anchor": "c999"}, "points.1.anchor"),
        ({"text": "x" * 5000}, "points.1.text"),
        ({"text": "x", "criterion": "nothing"}, "points.1.criterion"),
    ],
)
def test_return_with_a_bad_point_is_refused_naming_it(team: Team, point: dict[str, str], path: str) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    with pytest.raises(Invalid) as caught:
        finish(item, team.aud, Move.RETURN, points=[point])
    assert caught.value.details["problems"][0]["path"] == path
    assert fresh(item).state == State.SECONDARY_AUDIT and not ReturnPoint.objects.exists()


def test_return_with_neither_points_nor_a_reason_is_refused(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    with pytest.raises(Invalid) as caught:
        finish(item, team.aud, Move.RETURN, points=[{"text": ""}])
    assert caught.value.code == "reason_missing"


def test_submit_before_every_point_is_answered_lists_the_open_ones(team: Team, returned: Item) -> None:
    first, second = points(returned)
    answer_point(returned, first.pk, "mended", actor=team.ann)
    with pytest.raises(Invalid) as caught:
        submit(returned)
    assert caught.value.code == "points_open"
    assert caught.value.details["problems"] == [{"path": f"points.{second.pk}", "message": second.text}]
    answer_point(returned, second.pk, "mended", actor=team.ann)
    answer_point(returned, first.pk, "open", actor=team.ann)  # taken back
    with pytest.raises(Invalid):
        submit(returned)
    assert fresh(returned).state == State.RETURNED


def test_dispute_without_a_reason_and_unknown_answers_are_refused(team: Team, returned: Item) -> None:
    point = points(returned)[0]
    for answer in ("disputed", "", "whatever"):
        with pytest.raises(Invalid):
            answer_point(returned, point.pk, answer, "  ", actor=team.ann)
    assert points(returned)[0].answer == "open"


@pytest.mark.parametrize("who", ["ann2", "aud", "core", "admin", "stranger"])
def test_answer_is_the_author_s_alone(team: Team, returned: Item, who: str) -> None:
    with pytest.raises(NotAllowed):
        answer_point(returned, points(returned)[0].pk, "mended", actor=getattr(team, who))


def test_answer_outside_returned_and_to_an_earlier_return_is_refused(team: Team, returned: Item) -> None:
    item = resubmitted(team, returned)
    with pytest.raises(NotAllowed):
        answer_point(item, points(item)[0].pk, "mended", actor=team.ann)
    old = points(item)[0]
    finish(item, team.core, Move.RETURN, "Again")  # phase 1 or 2: by core
    with pytest.raises(Conflict) as caught:
        answer_point(item, old.pk, "mended", actor=team.ann)
    assert caught.value.code == "old_point"


def test_pass_waits_until_each_answer_is_accepted(team: Team, returned: Item) -> None:
    item = resubmitted(team, returned)
    assert fresh(item).state == State.SECONDARY_AUDIT
    answer_phase(item, team.aud)
    with pytest.raises(Invalid) as caught:
        finish(item, team.aud)
    assert [p["path"] for p in caught.value.details["problems"]] == ["points"]
    first, second = points(item)
    judge_point(item, first.pk, True, actor=team.aud)
    judge_point(item, second.pk, False, actor=team.aud)
    with pytest.raises(Invalid):
        finish(item, team.aud)
    judge_point(item, second.pk, True, actor=team.aud)
    finish(item, team.aud)
    assert fresh(item).state == State.MULTIMODAL_AUDIT
    kinds = ItemEvent.objects.filter(item=item, kind__startswith="point.").values_list("kind", flat=True)
    assert sorted(kinds) == ["point.accepted"] * 2 + ["point.answered"] * 2 + ["point.reopened"]


def test_lock_waits_for_points_of_a_return_of_an_approved_item(team: Team) -> None:
    item = bring_to(team, team.item(), State.APPROVED)
    finish(item, team.core, Move.RETURN, points=[{"text": "Say which century"}])
    [point] = points(item)
    answer_point(item, point.pk, "disputed", "It is said", actor=team.ann)
    item = submit(item)
    assert fresh(item).state == State.APPROVED  # nothing changed: the system passed every phase
    with pytest.raises(Invalid) as caught:
        actions.lock_item(fresh(item), item.document_hash, actor=team.core)
    assert caught.value.code == "points_open"
    judge_point(item, point.pk, True, actor=team.core)
    assert actions.lock_item(fresh(item), item.document_hash, actor=team.core).state == State.LOCKED
    with pytest.raises(NotAllowed):
        judge_point(item, point.pk, False, actor=team.core)


@pytest.mark.parametrize("who", ["ann", "ann2", "stranger"])
def test_judging_an_answer_is_the_reviewers(team: Team, returned: Item, who: str) -> None:
    item = resubmitted(team, returned)
    with pytest.raises(NotAllowed):
        judge_point(item, points(item)[0].pk, True, actor=getattr(team, who))


def test_changes_beside_a_point_are_those_of_its_place(team: Team, returned: Item) -> None:
    shown = point_rows(mend(team, returned))
    assert shown is not None
    question, step = shown.rows
    assert list(question.changes) == []
    assert [change.path for change in step.changes] == ["checklist.c3.conclusion"]


# --- pages and API ------------------------------------------------------------------------------------------------


def url(name: str, item: Item, *more: Any) -> str:
    return reverse(f"audit:{name}", args=[item.benchmark.slug, item.number, *more])


def test_points_on_the_item_s_page_are_answered_by_form_and_htmx(team: Team, returned: Item) -> None:
    page = team.client("ann").get(f"/b/bench/items/{returned.number}/").content.decode()
    assert url("points", returned) in page
    part = team.client("ann").get(url("points", returned), **HTMX).content.decode()
    assert "2 things to mend" in part and "0 of 2 answered" in part and "The question does not reveal" in part
    first, second = points(returned)
    client = team.client("ann")
    said = client.post(url("point-answer", returned, first.pk), {"answer": "disputed", "text": ""}, **HTMX)
    assert said.status_code == 422 and b"Say why you dispute this point" in said.content
    plain = client.post(url("point-answer", returned, first.pk), {"answer": "disputed", "text": ""})
    assert plain.status_code == 422 and b"Say why you dispute this point" in plain.content
    kept = client.post(url("point-answer", returned, first.pk), {"answer": "disputed", "text": "No"}, **HTMX)
    assert b"1 of 2 answered" in kept.content and b"disputed" in kept.content
    assert client.post(url("point-answer", returned, second.pk), {"answer": "mended"}).status_code == 302
    assert client.get(url("points", returned)).status_code == 302


@pytest.mark.parametrize(("who", "status"), [("ann2", 403), ("aud", 403), ("stranger", 404)])
def test_points_are_read_by_members_and_answered_by_the_author(
    team: Team, returned: Item, who: str, status: int
) -> None:
    pk = points(returned)[0].pk
    client = team.client(who)
    assert client.get(url("points", returned), **HTMX).status_code == (404 if status == 404 else 200)
    assert client.post(url("point-answer", returned, pk), {"answer": "mended"}).status_code == status
    assert client.post(url("point-judge", returned, pk), {"accepted": "yes"}).status_code == status


def test_auditor_sees_answers_beside_the_difference_and_accepts(team: Team, returned: Item) -> None:
    item = resubmitted(team, returned)
    client = team.client("aud")
    text = client.get(url("panel", item)).content.decode()
    assert "It names nothing" in text and "<ins> It was 1877.</ins>" in text.replace("<ins>\n", "<ins>")
    pk = points(item)[1].pk
    reply = client.post(url("point-judge", item, pk), {"accepted": "no", "on": "audit"}, **HTMX).content.decode()
    assert "reopened" in reply and 'id="audit-decide" hx-swap-oob="true"' in reply
    form = client.get(url("panel", item)).content.decode()
    assert "Step 3 has the wrong year</textarea>" in form  # a reopened point starts the next return


def test_return_by_page_takes_the_rows_that_have_text(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    data = {
        "move": "return",
        "hash": item.document_hash,
        "point_text": ["", "Wrong year"],
        "point_anchor": ["", "c3"],
        "point_criterion": ["", ""],
    }
    bad = team.client("aud").post(url("item-move", item), {**data, "point_anchor": ["", "nowhere"]})
    assert bad.status_code == 422 and b"Wrong year</textarea>" in bad.content and b"nowhere" in bad.content
    assert team.client("aud").post(url("item-move", item), data).status_code == 302
    assert [(p.text, p.anchor) for p in points(item)] == [("Wrong year", "c3")]


def test_points_by_api(team: Team, returned: Item) -> None:
    api = f"/api/benchmarks/bench/items/{returned.number}/points/"
    listed = team.client("ann").get(api).json()["points"]
    assert [p["anchor"] for p in listed] == ["question", "c3"]

    def post(who: str, pk: int, **data: Any) -> Any:
        return team.client(who).post(f"{api}{pk}/", json.dumps(data), content_type="application/json")

    assert post("ann", listed[0]["id"], answer="mended", text="Done").json()["answer"] == "mended"
    assert post("ann", listed[0]["id"]).status_code == 422
    assert post("aud", listed[0]["id"], accepted=True).status_code == 403
    assert team.client("stranger").get(api).status_code == 404
