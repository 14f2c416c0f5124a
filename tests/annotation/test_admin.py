"""The administration site changes no item, deletes no person, and leaves endpoints to superusers."""

import pytest
from django.contrib.auth.models import Permission, User

from annotation.models import Benchmark, Item, ItemEvent
from annotation.states import State
from lhdr_site.endpoints.models import Endpoint
from tests.factories import Team, make_user

ENDPOINT = {
    "name": "Local",
    "base_url": "http://127.0.0.1:9/v1",
    "wire": "openai",
    "key_variable": "LHDR_KEY_LOCAL",
    "connect_timeout": 10,
    "read_timeout": 300,
    "total_timeout": 3600,
    "slots": 20,
}


def test_a_locked_item_is_shown_and_cannot_be_changed_or_deleted_by_a_superuser(team: Team) -> None:
    item = team.item()
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    client, address = team.client("root"), f"/admin/annotation/item/{item.pk}"
    shown = client.get(f"{address}/change/")
    assert shown.status_code == 200 and "Forth Bridge" in shown.content.decode()
    assert client.post(f"{address}/change/", {"question": "Changed", "state": "draft"}).status_code == 403
    assert client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    bulk = {"action": "delete_selected", "_selected_action": [item.pk], "post": "yes"}
    client.post("/admin/annotation/item/", bulk)
    item.refresh_from_db()
    assert (item.state, item.question) == (State.LOCKED, item.document["question"])


@pytest.mark.parametrize("model", ["item", "revision", "itemevent"])
def test_history_is_listed_and_nothing_can_be_added(team: Team, model: str) -> None:
    team.item()
    client = team.client("root")
    assert client.get(f"/admin/annotation/{model}/").status_code == 200
    assert client.get(f"/admin/annotation/{model}/add/").status_code == 403


def test_a_benchmark_can_be_renamed_and_keeps_its_slug(team: Team) -> None:
    client, address = team.client("root"), f"/admin/annotation/benchmark/{team.benchmark.pk}/change/"
    reply = client.post(address, {"slug": "other", "name": "New name", "preset": "sandbox"})
    assert reply.status_code == 302
    benchmark = Benchmark.objects.get(pk=team.benchmark.pk)
    assert (benchmark.slug, benchmark.name, benchmark.preset) == ("bench", "New name", "sandbox")
    event = ItemEvent.objects.filter(benchmark=benchmark, kind="benchmark.changed").first()
    assert event is not None and event.actor == team.root
    assert event.data["changed"] == {"name": ["Benchmark bench", "New name"], "preset": ["paper", "sandbox"]}
    assert client.post(f"/admin/annotation/benchmark/{benchmark.pk}/delete/", {"post": "yes"}).status_code == 403
    assert client.get("/admin/annotation/benchmark/add/").status_code == 403


def test_a_person_is_deactivated_and_never_deleted(team: Team) -> None:
    client = team.client("root")
    assert client.post(f"/admin/auth/user/{team.ann.pk}/delete/", {"post": "yes"}).status_code == 403
    client.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": [team.ann.pk], "post": "yes"})
    assert User.objects.filter(pk=team.ann.pk).exists()
    page = client.get(f"/admin/auth/user/{team.ann.pk}/change/").content.decode()
    assert 'name="is_active"' in page and "deletelink" not in page


def test_an_endpoint_is_made_by_a_superuser(team: Team) -> None:
    assert team.client("root").post("/admin/endpoints/endpoint/add/", ENDPOINT).status_code == 302
    assert Endpoint.objects.get().key_variable == "LHDR_KEY_LOCAL"


def test_an_endpoint_with_a_key_instead_of_its_variable_is_refused(team: Team) -> None:
    reply = team.client("root").post("/admin/endpoints/endpoint/add/", {**ENDPOINT, "key_variable": "sk-123"})
    assert "LHDR_KEY_" in reply.content.decode() and not Endpoint.objects.exists()


def test_staff_with_every_permission_but_no_superuser_makes_no_endpoint(db: None) -> None:
    from django.test import Client

    staff = make_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    client = Client()
    client.force_login(staff)
    assert client.post("/admin/endpoints/endpoint/add/", ENDPOINT).status_code == 403
    assert client.get("/admin/endpoints/endpoint/").status_code == 403
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("who", ["ann", "core", "admin"])
def test_members_have_no_administration(team: Team, who: str) -> None:
    assert team.client(who).get("/admin/annotation/item/").status_code == 302
