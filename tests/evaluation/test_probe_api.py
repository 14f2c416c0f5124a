"""Probes and gradeability over HTTP: asking by name, lists, a person's word, pasting, refusals by field."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Item
from audit.models import GradeCheck, Probe
from audit.probes import paste_probe
from tests.evaluation.probing import item_with_picture, work
from tests.evaluation.setting import Setting
from tests.evaluation.test_api import send

AUDITORS = [("ann", 403), ("ann2", 403), ("aud", 201), ("core", 201), ("stranger", 404)]


@pytest.fixture
def item(setting: Any) -> Item:
    return item_with_picture(setting)


def address(item: Item, what: str = "probes/") -> str:
    return f"/api/benchmarks/bench/items/{item.number}/{what}"


def asked(setting: Setting, **changes: Any) -> dict[str, Any]:
    return {"systems": [setting.system.name], "conditions": ["with_image", "without_image"], **changes}


def pasted(**changes: Any) -> dict[str, Any]:
    body = {
        "system_name": "A chat page",
        "condition": "with_image",
        "when": "2026-11-01T10:00:00Z",
        "text": "It is 1588",
    }
    return {**body, **changes}


def paste(setting: Setting, item: Item, **changes: Any) -> Probe:
    data = {"system_name": "A chat page", "with_image": True, "when": timezone.now(), "text": "1588", **changes}
    return paste_probe(item, data, actor=setting.team.aud)


@pytest.mark.parametrize(("who", "status"), AUDITORS)
def test_asking_by_role_and_what_came_is_listed(setting: Setting, item: Item, who: str, status: int) -> None:
    client = setting.team.client(who)
    made = send(client, address(item), asked(setting, judge=setting.judge.name))
    assert made.status_code == status, made.content
    assert Probe.objects.count() == (2 if status == 201 else 0)
    assert client.get(address(item)).status_code == (404 if who == "stranger" else 200)
    if status == 201:
        assert [(row["condition"], row["status"]) for row in made.json()] == [
            ("with_image", "pending"),
            ("without_image", "pending"),
        ]
        work()
        rows = setting.team.client("ann").get(address(item)).json()["results"]
        assert [row["condition"] for row in rows] == ["without_image", "with_image"]
        assert {(row["status"], row["system"], row["requested_by"]) for row in rows} == {
            ("completed", setting.system.name, f"bench-{who}")
        }
        assert rows[0]["text"] and rows[0]["is_fresh"] and rows[0]["judge_recovered"] is not None
        assert setting.team.client("ann").get(address(item, f"probes/{rows[0]['id']}/")).json() == rows[0]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"systems": []}, "systems"),
        ({"systems": ["nobody"]}, "systems"),
        ({"conditions": []}, "conditions"),
        ({"conditions": ["sideways"]}, "conditions[0]"),
        ({"times": 11}, "times"),
        ({"judge": "nobody"}, "judge"),
    ],
)
def test_asking_refused_names_the_field(setting: Setting, item: Item, changes: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("aud"), address(item), asked(setting, **changes))
    assert reply.status_code == 422, reply.content
    assert reply.json()["problems"][0]["path"] == path
    assert not Probe.objects.exists()


@pytest.mark.parametrize(("who", "status"), AUDITORS)
def test_pasting_by_role(setting: Setting, item: Item, who: str, status: int) -> None:
    reply = send(setting.team.client(who), address(item, "probes/paste/"), pasted())
    assert reply.status_code == status, reply.content
    assert Probe.objects.count() == (status == 201)
    if status == 201:
        row = reply.json()
        assert (row["origin"], row["condition"], row["status"], row["text"]) == (
            "pasted",
            "with_image",
            "completed",
            "It is 1588",
        )


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"system_name": ""}, "system_name"),
        ({"text": " "}, "text"),
        ({"when": "2999-01-01T00:00:00Z"}, "when"),
        ({"when": "soon"}, "when"),
        ({"condition": "none"}, "condition"),
        ({"vendor": "x" * 81}, "vendor"),
    ],
)
def test_pasting_refused_names_the_field(setting: Setting, item: Item, changes: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("aud"), address(item, "probes/paste/"), pasted(**changes))
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not Probe.objects.exists()


@pytest.mark.parametrize(("who", "status"), [(w, 200 if s == 201 else s) for w, s in AUDITORS])
def test_word_by_role_stands_and_is_replaced(setting: Setting, item: Item, who: str, status: int) -> None:
    probe, client = paste(setting, item), setting.team.client(who)
    path = address(item, f"probes/{probe.pk}/word/")
    body = {"recovered": True, "path": "single_page", "comment": "The first hit"}
    reply = send(client, path, body, "put")
    assert reply.status_code == status
    assert Probe.objects.get().has_word == (status == 200)
    if status == 200:
        assert (reply.json()["found"], reply.json()["seen_by"]) == (True, f"bench-{who}")
        assert send(client, path, {"recovered": False, "path": "none"}, "put").json()["found"] is False


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"path": "none"}, "recovered"),
        ({"recovered": True, "path": "x"}, "path"),
        ({"recovered": True, "path": "none"}, "comment"),
    ],
)
def test_word_refused_names_the_field(setting: Setting, item: Item, body: dict[str, Any], path: str) -> None:
    probe = paste(setting, item)
    reply = send(setting.team.client("aud"), address(item, f"probes/{probe.pk}/word/"), body, "put")
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not Probe.objects.get().has_word


def test_again_asks_a_judge_where_there_is_an_answer(setting: Setting, item: Item) -> None:
    probe, client = paste(setting, item), setting.team.client("aud")
    path = address(item, f"probes/{probe.pk}/again/")
    assert send(client, path).json()["problems"][0]["path"] == "judge"
    assert send(setting.team.client("ann"), path, {"judge": setting.judge.name}).status_code == 403
    assert send(client, path, {"judge": setting.judge.name}).json()["status"] == "pending"
    assert send(client, path, {"judge": setting.judge.name}).status_code == 409
    work()
    assert client.get(address(item, f"probes/{probe.pk}/")).json()["judge_recovered"] is not None


def test_probes_page_in_the_same_queries_whatever_their_number(setting: Setting, item: Item) -> None:
    client, counts = setting.team.client("aud"), []
    for number in (1, 3):
        for _n in range(number):
            paste(setting, item)
        with CaptureQueriesContext(connection) as found:
            client.get(address(item))
        counts.append(len(found))
    assert counts[0] == counts[1] <= 6
    first = client.get(address(item), {"limit": 3}).json()
    assert len(first["results"]) == 3 and len(client.get(first["next"]).json()["results"]) == 1
    assert client.get(address(item, "probes/999/")).status_code == 404


@pytest.mark.parametrize(("who", "status"), AUDITORS)
def test_gradeability_by_role_is_checked_and_listed(setting: Setting, item: Item, who: str, status: int) -> None:
    client = setting.team.client(who)
    made = send(client, address(item, "gradeability/"), {"judge": setting.judge.name})
    assert made.status_code == status, made.content
    assert GradeCheck.objects.count() == (status == 201)
    assert client.get(address(item, "gradeability/")).status_code == (404 if who == "stranger" else 200)
    if status == 201:
        again = send(client, address(item, "gradeability/"), {"judge": setting.judge.name})
        assert (again.status_code, again.json()["code"]) == (409, "still_open")
        work()
        [row] = setting.team.client("ann").get(address(item, "gradeability/")).json()["results"]
        assert row["status"] in ("passed", "failed") and len(row["cases"]) == 3 and row["is_fresh"]
        wrong = send(client, address(item, f"gradeability/{row['id']}/again/"))
        assert (wrong.status_code, wrong.json()["code"]) == (409, "wrong_state")


@pytest.mark.parametrize(
    ("body", "path"), [({}, "judge"), ({"judge": "nobody"}, "judge"), ({"judge": 5 * [1]}, "judge")]
)
def test_gradeability_refused_names_the_field(setting: Setting, item: Item, body: dict[str, Any], path: str) -> None:
    reply = send(setting.team.client("aud"), address(item, "gradeability/"), body)
    assert reply.status_code == 422 and reply.json()["problems"][0]["path"] == path
    assert not GradeCheck.objects.exists()
