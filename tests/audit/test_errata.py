"""Faults of locked items: flagging, deciding, what the item's page and the next release say; pages and API per role."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.actions import insert_items
from annotation.models import Item, ItemEvent, Notice, Revision
from annotation.notices import worded
from annotation.states import State
from audit import release_actions
from audit.actions import lock_imported
from audit.errata_actions import decide_erratum, flag_item
from audit.errata_queries import errata_since
from audit.models import Errata, Transition
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.documents import good_document
from tests.factories import Team

from .judging import fresh

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


def locked_item(team: Team, uid: str = "faulty", author: str = "ann") -> Item:
    """A locked item; imported, which is quicker than an audit."""
    with transaction.atomic():
        document = good_document(id=uid)
        [item] = insert_items(team.benchmark, [document], author=getattr(team, author), kind=Revision.Kind.IMPORT)
    lock_imported(team.benchmark, actor=team.admin)
    return fresh(item)


@pytest.fixture
def locked(team: Team) -> Item:
    return locked_item(team)


def flag(team: Team, item: Item, who: str = "ann2", **changes: Any) -> Errata:
    given = {"kind": "step", "anchor": "c3", "grounds": "The page says 1890.", **changes}
    return flag_item(item, actor=getattr(team, who), **given)


def decide(team: Team, row: Errata, status: str = "revised", **changes: Any) -> Errata:
    return decide_erratum(row, status, **{"reason": "Seen", "seen": "open", "actor": team.core, **changes})


# --- flagging -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_every_member_flags_a_locked_item_which_does_not_change(team: Team, locked: Item, who: str) -> None:
    row = flag(team, locked, who)
    assert (row.status, row.revision.number) == ("open", locked.revision_number)
    assert fresh(locked).state == State.LOCKED
    assert ItemEvent.objects.filter(item=locked, kind="erratum.flagged", actor=row.author).count() == 1


def test_a_stranger_flags_nothing(team: Team, locked: Item) -> None:
    with pytest.raises(NotAllowed):
        flag(team, locked, "stranger")
    assert not Errata.objects.exists()


def test_core_is_told_of_a_flag_and_its_author_of_the_decision(team: Team, locked: Item) -> None:
    Notice.objects.all().delete()
    row = flag(team, locked)
    told = worded(Notice.objects.all())
    assert {(n.user, n.sentence) for n in told} == {  # type: ignore[attr-defined]
        (user, f"bench-ann2 flagged #{locked.number} as faulty") for user in (team.core, team.admin, team.root)
    }
    decide(team, row, "retired")
    told = worded(Notice.objects.filter(about="erratum_retired"))
    assert {n.user for n in told} == {team.ann2, team.ann}
    assert told[0].sentence == f"bench-core decided on a fault of #{locked.number}: it is retired"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "colour"}, "kind"),
        ({"anchor": ""}, "anchor"),
        ({"anchor": "c99"}, "anchor"),
        ({"anchor": "s1"}, "anchor"),
        ({"kind": "answer"}, "anchor"),
        ({"grounds": " "}, "grounds"),
        ({"grounds": "x" * 5001}, "grounds"),
        ({"evidence": {"big": "x" * 60_000}}, "evidence"),
        ({"release": "v9"}, "release"),
    ],
)
def test_flag_that_cannot_be_taken_names_the_field(team: Team, locked: Item, changes: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        flag(team, locked, **changes)
    assert [p["path"] for p in caught.value.details["problems"]] == [field]
    assert not Errata.objects.exists()


def test_only_a_locked_item_is_flagged_or_the_copy_of_it_in_a_release(team: Team, locked: Item) -> None:
    with pytest.raises(Conflict, match="state “draft”"):
        flag(team, team.item())
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    decide(team, flag(team, locked), unlock=True)
    with pytest.raises(Conflict, match="state “returned”"):
        flag(team, locked)
    assert flag(team, locked, release="v1").revision.number == locked.revision_number


# --- deciding -----------------------------------------------------------------------------------------------------


def test_revised_with_unlock_returns_the_item_with_the_same_reason_in_one_go(team: Team, locked: Item) -> None:
    decide(team, flag(team, locked), reason="Step 3 is wrong", unlock=True)
    assert fresh(locked).state == State.RETURNED
    assert Transition.objects.filter(item=locked, to_state="returned").get().reason == "Step 3 is wrong"


def test_of_two_who_decide_at_once_one_wins_and_the_other_reads_what_happened(team: Team, locked: Item) -> None:
    row = flag(team, locked)
    decide(team, row, "valid", reason="It is right")
    with pytest.raises(Conflict, match=r"bench-core decided meanwhile.*It is right"):
        decide(team, row, "retired", actor=team.admin)
    assert Errata.objects.get().status == "valid"
    assert decide(team, row, "uncertain", seen="valid", actor=team.admin).decided_by == team.admin


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"status": "open"}, "status"),
        ({"status": "x"}, "status"),
        ({"reason": ""}, "reason"),
        ({"status": "retired", "unlock": True}, "unlock"),
    ],
)
def test_decision_that_cannot_be_taken_names_the_field(team: Team, locked: Item, changes: Any, field: str) -> None:
    row = flag(team, locked)
    with pytest.raises(Invalid) as caught:
        decide(team, row, **changes)
    assert caught.value.details["problems"][0]["path"] == field
    assert Errata.objects.get().status == "open" and fresh(locked).state == State.LOCKED


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "stranger"])
def test_below_core_nobody_decides(team: Team, locked: Item, who: str) -> None:
    with pytest.raises(NotAllowed):
        decide(team, flag(team, locked), actor=getattr(team, who))


def test_core_decides_on_no_fault_of_their_own_item(team: Team) -> None:
    own = locked_item(team, author="admin")
    with pytest.raises(NotAllowed, match="created or co-edit"):
        decide(team, flag(team, own), actor=team.admin)


def test_errata_since_a_release_are_what_was_decided_against_items_after_it(team: Team, locked: Item) -> None:
    other = locked_item(team, "another")
    decide(team, flag(team, other), "retired")
    release = release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    flag(team, locked)
    decide(team, flag(team, locked), "valid")
    revised = decide(team, flag(team, locked), "revised")
    assert list(errata_since(release, team.core)) == [revised]


# --- pages --------------------------------------------------------------------------------------------------------


def page(team: Team, who: str, name: str, *args: Any, **query: str) -> Any:
    return team.client(who).get(reverse(f"audit:{name}", args=["bench", *args]), query)


def test_item_page_asks_for_the_notice_which_shows_what_stands_against_the_item(team: Team, locked: Item) -> None:
    address = reverse("audit:item-errata", args=["bench", locked.number])
    item_page = team.client("ann2").get(reverse("annotation:item-page", args=["bench", locked.number]))
    assert f'hx-get="{address}"' in item_page.content.decode()
    row = flag(team, locked)
    part = team.client("ann2").get(address, **HTMX).content.decode()
    assert "<!DOCTYPE" not in part and "The page says 1890." in part and "Flag a fault" in part
    decide(team, row, "retired", reason="No way to mend it")
    assert "No way to mend it" in team.client("ann2").get(address).content.decode()
    decide(team, row, "valid", seen="retired")
    part = team.client("ann2").get(address, **HTMX).content.decode()
    assert "A fault was seen" not in part and "1 other fault was flagged before" in part


def test_a_flag_and_a_decision_go_by_plain_forms(team: Team, locked: Item) -> None:
    address = reverse("audit:item-flag", args=["bench", locked.number])
    bad = team.client("ann2").post(address, {"kind": "step", "grounds": "Typed and kept"})
    assert bad.status_code == 422 and b"Typed and kept" in bad.content and b"by its key" in bad.content
    good = team.client("ann2").post(address, {"kind": "answer", "anchor": "c1", "grounds": "It is 338."})
    row = Errata.objects.get()
    assert good.url == reverse("audit:erratum", args=["bench", row.pk]) and row.anchor == ""
    bad = team.client("core").post(good.url, {"status": "revised", "reason": "Kept too", "seen": "valid"})
    assert bad.status_code == 409 and b"Kept too" in bad.content
    assert team.client("aud").post(good.url, {"status": "valid", "reason": "x", "seen": "open"}).status_code == 403
    form = {"status": "revised", "reason": "Mend it", "seen": "open", "unlock": "on"}
    assert team.client("core").post(good.url, form).status_code == 302
    assert fresh(locked).state == State.RETURNED


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "core", "admin"])
def test_every_member_reads_the_list_and_an_erratum_and_strangers_see_none(team: Team, locked: Item, who: str) -> None:
    row = flag(team, locked, evidence={"run": 3, "judges agree": True})
    for name, args in [("errata-list", ()), ("erratum", (row.pk,)), ("item-flag", (locked.number,))]:
        answer = page(team, who, name, *args)
        assert answer.status_code == 200
        assert page(team, "stranger", name, *args).status_code == 404
    assert page(team, who, "erratum", 10**17).status_code == 404
    assert (b"judges agree" in page(team, who, "erratum", row.pk).content) is True
    assert (b'name="status"' in page(team, who, "erratum", row.pk).content) is (who in ("core", "admin"))


def test_list_shows_open_ones_first_filters_and_asks_no_more_for_more_rows(team: Team, locked: Item) -> None:
    release_actions.cut_release(team.benchmark, "v1", actor=team.admin)
    flag(team, locked, grounds="OPEN ONE")
    decide(team, flag(team, locked, grounds="DECIDED ONE"), "retired")
    client, address = team.client("ann"), reverse("audit:errata-list", args=["bench"])

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            client.get(address)
        return len(caught)

    text = client.get(address).content.decode()
    assert text.index("OPEN ONE") < text.index("DECIDED ONE")
    for query in ("status=retired", "since=v1"):
        text = client.get(f"{address}?{query}").content.decode()
        assert "OPEN ONE" not in text and "DECIDED ONE" in text
    assert client.get(f"{address}?since=v9").status_code == 404
    before = queries()
    for _number in range(5):
        flag(team, locked, "admin")
    assert queries() == before <= 14


# --- API ----------------------------------------------------------------------------------------------------------


def test_api_flags_lists_and_decides_as_the_pages_do(team: Team, locked: Item) -> None:
    base = "/api/benchmarks/bench/"
    client, json = team.client("ann2"), {"content_type": "application/json"}
    made = client.post(
        f"{base}items/{locked.number}/errata/",
        {"kind": "source", "anchor": "s1", "grounds": "Dead", "evidence": {"run": 1.5}},
        **json,
    )
    assert made.status_code == 201 and made.json()["status"] == "open"
    one = f"{base}errata/{made.json()['id']}/"
    assert client.get(one).json()["evidence"] == {"run": 1.5}
    assert client.post(one, {"status": "valid", "reason": "x"}, **json).status_code == 403
    core = team.client("core")
    assert core.post(one, {"status": "valid"}, **json).status_code == 422
    assert core.post(one, {"status": "valid", "reason": "x", "seen": "retired"}, **json).status_code == 409
    assert core.post(one, {"status": "valid", "reason": "It opens"}, **json).json()["reason"] == "It opens"
    for path in (f"{base}errata/", f"{base}errata/?status=valid", f"{base}items/{locked.number}/errata/"):
        assert [row["id"] for row in client.get(path).json()["errata"]] == [made.json()["id"]]
    assert client.get(f"{base}errata/?page={'9' * 17}").json() == {"errata": [], "more": False}
    assert client.get(f"{base}errata/?status=x").status_code == 422
    assert team.client("stranger").get(f"{base}errata/").status_code == 404
