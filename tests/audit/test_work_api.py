"""Queue, claims, rules set aside, candidate answers and links over HTTP: per role, refusals by field, query counts."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Item
from annotation.states import State
from audit.candidate_actions import add_candidate
from audit.link_queries import url_hash
from audit.models import BlindAudit, Candidate, LinkCheck, LinkJob, Override, ReviewClaim
from audit.second_actions import take_blind_audit
from tests.factories import Team

from .judging import bring_to, fresh
from .test_api import address, post

AUDIT = "/api/benchmarks/bench/audit/"
WRITERS = [("ann", 403), ("aud", 403), ("admin", 201), ("stranger", 404)]
READERS = [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]


@pytest.fixture
def secondary(team: Team) -> Item:
    return bring_to(team, team.item(), State.SECONDARY_AUDIT)


def blind(team: Team, item: Item, who: str) -> BlindAudit:
    """`who` audits the item blind at the moment."""
    revision = item.revisions.get(number=item.revision_number)
    audit = BlindAudit.objects.create(benchmark=team.benchmark, item=item, revision=revision, kind="double")
    return take_blind_audit(audit, actor=getattr(team, who))


def put(team: Team, who: str, path: str, data: Any = None) -> Any:
    return team.client(who).put(path, data or {}, content_type="application/json")


# --- the queue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("aud", 200), ("core", 200), ("stranger", 404)])
def test_queue_and_next_by_role(team: Team, secondary: Item, who: str, status: int) -> None:
    client = team.client(who)
    listed, following = client.get(f"{AUDIT}queue/"), client.get(f"{AUDIT}next/")
    assert (listed.status_code, following.status_code) == (status, status)
    assert not ReviewClaim.objects.filter(auditor=getattr(team, who)).exists()  # looking takes nothing
    if status == 200:
        [row] = listed.json()["results"]
        assert (row["number"], row["state"], row["claim"]) == (secondary.number, "secondary_audit", None)
        assert listed.json()["counts"]["waiting"] == "1" and following.json() == row
    assert post(team, who, f"{AUDIT}next/", {}).status_code == status
    assert ReviewClaim.objects.count() == (status == 200)


def test_claim_next_gives_what_one_has_already_and_nothing_of_others(team: Team, secondary: Item) -> None:
    assert post(team, "aud", f"{AUDIT}next/", {}).json()["number"] == secondary.number
    mine = post(team, "aud", f"{AUDIT}next/", {}).json()
    assert (mine["number"], mine["claim"]["auditor"]) == (secondary.number, "bench-aud")
    assert post(team, "core", f"{AUDIT}next/", {}).status_code == 204
    assert team.client("core").get(f"{AUDIT}next/").status_code == 204


def test_queue_pages_keep_their_filters_in_the_same_queries(team: Team) -> None:
    client, counts = team.client("aud"), []
    for number in (1, 2):
        for _n in range(number):
            bring_to(team, team.item(), State.SECONDARY_AUDIT)
        with CaptureQueriesContext(connection) as found:
            client.get(f"{AUDIT}queue/", {"list": "waiting"})
        counts.append(len(found))
    assert counts[0] == counts[1] <= 12


@pytest.mark.parametrize("query", [{"list": "none"}, {"state": "draft"}])
def test_queue_with_a_wrong_query_names_it(team: Team, query: dict[str, str]) -> None:
    reply = team.client("aud").get(f"{AUDIT}queue/", query)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] in query


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("ann2", 403), ("aud", 200), ("stranger", 404)])
def test_claim_by_role_is_taken_kept_and_given_back(team: Team, secondary: Item, who: str, status: int) -> None:
    path = address(secondary, "claim")
    assert put(team, who, path).status_code == status
    assert ReviewClaim.objects.count() == (status == 200)
    if status == 200:
        ReviewClaim.objects.update(expires=fresh(secondary).moved)  # it lapsed
        assert team.client("ann").get(path).status_code == 204
        assert put(team, who, path).json()["auditor"] == "bench-aud"
        assert team.client("ann").get(path).json()["phase"] == 2
    gone = team.client(who).delete(path)
    assert gone.status_code == {200: 204, 403: 409, 404: 404}[status]
    assert team.client(who).delete(path).status_code == (404 if status == 404 else 409)
    assert not ReviewClaim.objects.exists()


def test_claim_of_somebody_elses_is_refused_with_who_has_it(team: Team, secondary: Item) -> None:
    put(team, "aud", address(secondary, "claim"))
    reply = put(team, "core", address(secondary, "claim"))
    assert (reply.status_code, reply.json()["code"]) == (409, "claimed") and "bench-aud" in reply.json()["message"]


# --- rules set aside ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 201), ("stranger", 404)]
)
def test_override_by_role(team: Team, secondary: Item, who: str, status: int) -> None:
    data = {"rule": "own_item", "reason": "Nobody else", "person": "bench-core"}
    reply = post(team, who, address(secondary, "overrides"), data)
    assert reply.status_code == status
    assert Override.objects.count() == (status == 201)
    if status == 201:
        [row] = team.client("ann").get(address(secondary, "overrides")).json()["results"]
        assert row == reply.json() and (row["rule"], row["person"], row["by"]) == (
            "own_item",
            "bench-core",
            "bench-admin",
        )


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"rule": "none"}, "rule"),
        ({"reason": " "}, "reason"),
        ({"person": "bench-stranger"}, "person"),
        ({"person": ""}, "person"),
        ({"rule": "probes"}, "person"),
        ({"reason": "x" * 2001}, "reason"),
    ],
)
def test_override_refused_names_the_field(team: Team, secondary: Item, changes: dict[str, Any], path: str) -> None:
    data = {"rule": "own_item", "reason": "Nobody else", "person": "bench-core", **changes}
    reply = post(team, "admin", address(secondary, "overrides"), data)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not Override.objects.exists()


# --- candidate answers --------------------------------------------------------------------------------------------

RIVAL = {"candidate": "The Aurora", "why": "It sailed that year too"}


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("ann2", 403), ("aud", 201), ("stranger", 404)])
def test_candidate_by_role_is_raised_and_taken_back(team: Team, secondary: Item, who: str, status: int) -> None:
    path = address(secondary, "candidates")
    reply = post(team, who, path, RIVAL)
    assert reply.status_code == status
    assert Candidate.objects.count() == (status == 201)
    if status != 201:
        add_candidate(secondary, RIVAL["candidate"], RIVAL["why"], actor=team.aud)
    [row] = team.client("ann").get(path).json()["results"]
    assert (row["candidate"], row["by"], row["is_open"], row["ruled_out_by"]) == ("The Aurora", "bench-aud", True, "")
    gone = team.client(who).delete(f"{path}{row['id']}/")
    assert gone.status_code == (204 if status == 201 else status)
    if status == 201:
        [row] = team.client("ann").get(path).json()["results"]
        assert (row["is_open"], row["withdrawn_by"]) == (False, "bench-aud")
        assert team.client(who).delete(f"{path}{row['id']}/").status_code == 409
    assert team.client("aud").delete(f"{path}99/").status_code == 404


def test_candidate_that_a_rival_rules_out_says_by_what(team: Team, secondary: Item) -> None:
    add_candidate(secondary, RIVAL["candidate"], RIVAL["why"], actor=team.aud)
    item = fresh(secondary)
    item.document["rivals"] = [{"answer": "the aurora", "excluded_by": "It had one mast."}]
    Item.objects.filter(pk=item.pk).update(document=item.document)
    [row] = team.client("aud").get(address(secondary, "candidates")).json()["results"]
    assert (row["is_open"], row["ruled_out_by"]) == (False, "It had one mast.")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"candidate": " "}, "candidate"),
        ({"why": ""}, "why"),
        ({"why": "x" * 4001}, "why"),
        ({"candidate": 5 * "y" * 101}, "candidate"),
    ],
)
def test_candidate_refused_names_the_field(team: Team, secondary: Item, changes: dict[str, Any], path: str) -> None:
    reply = post(team, "aud", address(secondary, "candidates"), {**RIVAL, **changes})
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    same = post(team, "aud", address(secondary, "candidates"), {**RIVAL, "candidate": secondary.document["answer"]})
    assert same.status_code == 422 and not Candidate.objects.exists()


def test_candidates_page_in_the_same_queries_whatever_their_number(team: Team, secondary: Item) -> None:
    client, counts, path = team.client("ann"), [], address(secondary, "candidates")
    for names in (["A1"], ["B1", "B2", "B3"]):
        for name in names:
            add_candidate(secondary, name, "Perhaps", actor=team.aud)
        with CaptureQueriesContext(connection) as found:
            client.get(path)
        counts.append(len(found))
    assert counts[0] == counts[1] <= 6
    first = client.get(path, {"limit": 3}).json()
    assert [row["candidate"] for row in client.get(first["next"]).json()["results"]] == ["B3"]


@pytest.mark.parametrize("what", ["candidates", "overrides"])
def test_who_audits_blind_reads_nothing_of_the_first_audit(team: Team, what: str) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    blind(team, item, "aud")
    reply = team.client("aud").get(address(item, what))
    assert (reply.status_code, reply.json()["code"]) == (403, "blind")
    assert team.client("core").get(address(item, what)).status_code == 200


# --- links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status"), READERS)
def test_links_by_role_are_read_and_asked_for(team: Team, secondary: Item, who: str, status: int) -> None:
    path, client = address(secondary, "links"), team.client(who)
    source = secondary.document["sources"][0]
    for each in (path, f"{path}{source['key']}/", f"{AUDIT}links/"):
        assert client.get(each).status_code == status
    asked = post(team, who, path, {"source": source["key"]})
    assert asked.status_code == (202 if status == 200 else 404)
    assert LinkJob.objects.count() == (status == 200)
    if status == 200:
        waiting = {row["source"]: row["waiting"] for row in asked.json()["links"]}
        assert [key for key, waits in waiting.items() if waits] == [source["key"]]


def test_link_check_of_no_source_names_the_field(team: Team, secondary: Item) -> None:
    reply = post(team, "ann", address(secondary, "links"), {"source": "s99"})
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == "source"
    assert team.client("ann").get(address(secondary, "links") + "s99/").status_code == 404


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("aud", 403), ("core", 201), ("admin", 201), ("stranger", 404)]
)
def test_vouch_by_role_is_a_dated_word(team: Team, secondary: Item, who: str, status: int) -> None:
    source = secondary.document["sources"][0]
    path = address(secondary, "links") + f"{source['key']}/"
    reply = post(team, who, path, {"seen": url_hash(source["url"]), "note": "It is there", "opens": False})
    assert reply.status_code == status
    assert LinkCheck.objects.filter(by=getattr(team, who)).count() == (status == 201)
    if status == 201:
        assert (reply.json()["status"], reply.json()["by"]) == ("dead", f"bench-{who}")
        [link, *_others] = team.client("ann").get(address(secondary, "links")).json()["links"]
        assert (link["status"], link["person"]["reason"], link["machine"]) == ("dead", "It is there", None)
        assert team.client("ann").get(path).json()["results"][0] == reply.json()


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"seen": "0" * 64}, 409, "stale_link"),
        ({"seen": "x" * 65}, 422, "invalid"),
        ({"note": ""}, 422, "invalid"),
        ({"note": "x" * 301}, 422, "invalid"),
    ],
)
def test_vouch_refused_says_why(team: Team, secondary: Item, changes: dict[str, Any], status: int, code: str) -> None:
    source = secondary.document["sources"][0]
    path = address(secondary, "links") + f"{source['key']}/"
    reply = post(team, "core", path, {"seen": url_hash(source["url"]), "note": "Read", **changes})
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    if status == 422:
        assert reply.json()["problems"][0]["path"] in changes
    assert not LinkCheck.objects.exists()


def test_link_list_is_narrowed_and_pages_in_the_same_queries(team: Team) -> None:
    client, counts = team.client("ann"), []
    for status in ("dead", "dead", "ok"):
        item = team.item()
        for source in item.document["sources"]:
            url = source["url"]
            LinkCheck.objects.create(item=item, source=source["key"], url=url, url_hash=url_hash(url), status=status)
        with CaptureQueriesContext(connection) as found:
            rows = client.get(f"{AUDIT}links/", {"show": "all"}).json()["results"]
        counts.append(len(found))
    assert counts[1] == counts[2] <= 5 and rows[0]["item"] == item.number
    dead = client.get(f"{AUDIT}links/", {"limit": 1}).json()
    assert dead["results"][0]["status"] == "dead" and dead["next"]
    assert client.get(f"{AUDIT}links/", {"show": "ok", "item": 1}).json()["results"] == []
    for query in ({"show": "none"}, {"item": "x"}):
        reply = client.get(f"{AUDIT}links/", query)
        assert reply.status_code == 422 and reply.json()["problems"][0]["path"] in query
