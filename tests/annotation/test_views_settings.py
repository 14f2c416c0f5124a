"""A benchmark's settings, members, categories and tags; and a new benchmark."""

from typing import Any

import pytest

from annotation import benchmark_actions
from annotation.models import Benchmark, Category, ItemEvent, Membership, OperationTag
from annotation.states import Role
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import NotAllowed
from tests.factories import Team, make_user

SETTINGS = "/b/bench/settings/"
MEMBERS = "/b/bench/settings/members/"
FIELDS = {
    "form": "fields",
    "name": "New name",
    "description": "Be *short*.",
    "language": "de",
    "target": "40",
    "min_steps": "8",
    "min_nodes": "4",
    "max_answer_words": "9",
    "wikipedia_percent": "30",
    "dataset_urls": "https://data.example/winter",
}


@pytest.mark.parametrize(
    ("who", "status"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 200), ("root", 200), ("stranger", 404)]
)
def test_settings_by_role(team: Team, who: str, status: int) -> None:
    client = team.client(who)
    assert client.get(SETTINGS).status_code == status
    posted = client.post(SETTINGS, FIELDS)
    assert posted.status_code == (302 if status == 200 else status)
    assert (Benchmark.objects.get().name == "New name") is (status == 200)
    member = client.post(MEMBERS, {"username": "bench-stranger", "role": "2"})
    assert member.status_code == (302 if status == 200 else status)
    assert Membership.objects.filter(user=team.stranger).exists() is (status == 200)


def test_settings_saves_every_field_and_records_it(team: Team) -> None:
    team.client("admin").post(SETTINGS, FIELDS)
    benchmark = Benchmark.objects.get()
    got = {name: str(getattr(benchmark, name)) for name in FIELDS if name != "form"}
    assert got == {name: value for name, value in FIELDS.items() if name != "form"}
    event = ItemEvent.objects.filter(kind="benchmark.changed").first()
    assert event is not None and event.data["changed"]["min_steps"] == ["10", "8"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "required"),
        ({"min_steps": "0"}, "greater than or equal to 1"),
        ({"min_steps": "9" * 30}, "less than or equal to"),
        ({"wikipedia_percent": "101"}, "less than or equal to 100"),
        ({"target": "x"}, "whole number"),
        ({"language": "x" * 30}, "at most 20"),
    ],
)
def test_settings_with_a_bad_field_keeps_what_was_typed_and_saves_nothing(
    team: Team, change: dict[str, str], words: str
) -> None:
    reply = team.client("admin").post(SETTINGS, {**FIELDS, **change})
    text = reply.content.decode()
    assert reply.status_code == 422 and words in text and "Be *short*." in text
    # The frame still names the stored benchmark.
    assert Benchmark.objects.get().name == "Benchmark bench" and "Benchmark bench, Paper" in text


def test_settings_of_an_unknown_form_says_so(team: Team) -> None:
    assert team.client("admin").post(SETTINGS, {"form": "odd"}).status_code == 422


def test_endpoints_are_chosen_among_those_of_the_installation(team: Team) -> None:
    assert "There is no endpoint" in team.client("admin").get(SETTINGS).content.decode()
    one = Endpoint.objects.create(name="One", base_url="https://one.example/v1")
    Endpoint.objects.create(name="Two", base_url="https://two.example/v1")
    team.client("admin").post(SETTINGS, {"form": "endpoints", "endpoints": [one.pk]})
    assert [e.name for e in team.benchmark.endpoints.all()] == ["One"]
    assert team.client("admin").post(SETTINGS, {"form": "endpoints", "endpoints": ["99"]}).status_code == 422
    team.client("admin").post(SETTINGS, {"form": "endpoints"})
    assert not team.benchmark.endpoints.exists()


def test_member_is_added_changed_and_removed(team: Team) -> None:
    client = team.client("admin")
    client.post(MEMBERS, {"username": "bench-stranger", "role": "1"})
    assert Membership.objects.get(user=team.stranger).role == Role.ANNOTATOR
    client.post(MEMBERS, {"username": "bench-stranger", "role": "3"})
    assert Membership.objects.get(user=team.stranger).role == Role.CORE
    client.post(MEMBERS, {"remove": team.stranger.pk})
    assert not Membership.objects.filter(user=team.stranger).exists()
    kinds = [e.data["new"] for e in ItemEvent.objects.filter(kind="membership.set", data__user="bench-stranger")]
    assert kinds == [None, 3, 1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"username": "nobody", "role": "1"}, "There is no user “nobody”"),
        ({"username": "gone", "role": "1"}, "deactivated"),
        ({"username": "bench-stranger", "role": "9"}, "valid choice"),
        ({"username": "bench-stranger"}, "required"),
        ({"role": "1"}, "required"),
    ],
)
def test_member_that_cannot_be_added_says_why(team: Team, data: dict[str, str], words: str) -> None:
    make_user("gone", is_active=False)
    before = Membership.objects.count()
    reply = team.client("admin").post(MEMBERS, data)
    assert reply.status_code == 422 and words in reply.content.decode()
    assert Membership.objects.count() == before


@pytest.mark.parametrize("remove", ["0", "x", "99999999999999999999"])
def test_member_that_is_none_cannot_be_removed(team: Team, remove: str) -> None:
    assert team.client("admin").post(MEMBERS, {"remove": remove}).status_code == 404


def test_the_last_admin_stays(team: Team) -> None:
    client = team.client("admin")
    assert client.post(MEMBERS, {"remove": team.root.pk}).status_code == 302
    for data in ({"remove": team.admin.pk}, {"username": "bench-admin", "role": "1"}):
        reply = client.post(MEMBERS, data)
        assert reply.status_code == 422 and "needs an admin" in reply.content.decode()
    assert Membership.objects.get(user=team.admin).role == Role.ADMIN
    assert "the only admin" in client.get(SETTINGS).content.decode()


@pytest.mark.parametrize(("kind", "model"), [("category", Category), ("tag", OperationTag)])
def test_label_is_added_renamed_and_keeps_its_slug(team: Team, kind: str, model: Any) -> None:
    client = team.client("admin")
    count = model.objects.count()
    client.post(SETTINGS, {"form": kind, "slug": "extra", "name": "Extra", "target": "5"})
    label = model.objects.get(slug="extra")
    assert (label.name, label.target, label.position, model.objects.count()) == ("Extra", 5, count, count + 1)
    client.post(SETTINGS, {"form": kind, "label": label.pk, "slug": "changed", "name": "Other", "target": ""})
    label.refresh_from_db()
    assert (label.slug, label.name, label.target) == ("extra", "Other", None)
    assert list(label.benchmark.events.filter(kind__endswith=".changed").values_list("kind", flat=True)) == [
        {"category": "category.changed", "tag": "operation_tag.changed"}[kind]
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"slug": "media", "name": "Media again"}, "already"),
        ({"slug": "Has Space", "name": "X"}, "lower-case letters"),
        ({"slug": "x", "name": ""}, "required"),
        ({"slug": "x", "name": "X", "target": "-1"}, "greater than or equal to 0"),
        ({"slug": "x", "name": "X", "target": "9" * 30}, "less than or equal to"),
    ],
)
def test_category_that_cannot_be_added_says_why(team: Team, data: dict[str, str], words: str) -> None:
    reply = team.client("admin").post(SETTINGS, {"form": "category", **data})
    assert reply.status_code == 422 and words in reply.content.decode()
    assert Category.objects.count() == 8


def test_category_with_an_empty_name_keeps_its_row_and_says_why(team: Team) -> None:
    label = Category.objects.get(slug="media")
    reply = team.client("admin").post(SETTINGS, {"form": "category", "label": label.pk, "name": "", "target": "7"})
    assert reply.status_code == 422 and 'value="7"' in reply.content.decode()
    label.refresh_from_db()
    assert (label.name, label.target) == ("Media", None)


def test_category_of_another_benchmark_cannot_be_changed(team: Team) -> None:
    from tests.factories import make_team

    other = Category.objects.get(benchmark=make_team("other").benchmark, slug="media")
    reply = team.client("admin").post(SETTINGS, {"form": "category", "label": other.pk, "name": "Taken"})
    assert reply.status_code == 404
    other.refresh_from_db()
    assert other.name == "Media"


@pytest.mark.parametrize(("who", "status"), [("root", 302), ("admin", 403), ("ann", 403), ("stranger", 403)])
def test_benchmark_create_by_role(team: Team, who: str, status: int) -> None:
    reply = team.client(who).post("/benchmarks/new/", {"slug": "fresh", "name": "Fresh", "preset": "sandbox"})
    assert reply.status_code == status
    assert Benchmark.objects.filter(slug="fresh").exists() is (status == 302)
    if status == 302:
        fresh = Benchmark.objects.get(slug="fresh")
        assert reply["Location"] == "/b/fresh/settings/" and fresh.is_sandbox
        assert Membership.objects.get(benchmark=fresh).role == Role.ADMIN


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"slug": "bench", "name": "X", "preset": "paper"}, "already"),
        ({"slug": "Bad Slug", "name": "X", "preset": "paper"}, "lower-case letters"),
        ({"slug": "x", "name": "", "preset": "paper"}, "required"),
        ({"slug": "x", "name": "X", "preset": "odd"}, "valid choice"),
    ],
)
def test_benchmark_create_with_a_bad_field_says_why(team: Team, data: dict[str, str], words: str) -> None:
    reply = team.client("root").post("/benchmarks/new/", data)
    assert reply.status_code == 422 and words in reply.content.decode()
    assert Benchmark.objects.count() == 1


@pytest.mark.parametrize("who", ["ann", "core", "stranger"])
def test_writes_to_what_belongs_to_a_benchmark_ask_who_does_it(team: Team, who: str) -> None:
    actor, label = getattr(team, who), Category.objects.get(slug="media")
    endpoint = Endpoint.objects.create(name="One", base_url="https://one.example/v1")
    writes = [
        lambda: benchmark_actions.set_endpoints(team.benchmark, [endpoint], actor=actor),
        lambda: benchmark_actions.add_label(team.benchmark, Category, "x", "X", actor=actor),
        lambda: benchmark_actions.change_label(label, "Changed", 3, actor=actor),
        lambda: benchmark_actions.rename_benchmark(team.benchmark, "Changed", "paper", actor=actor),
    ]
    events = ItemEvent.objects.count()
    for write in writes:
        with pytest.raises(NotAllowed):
            write()
    label.refresh_from_db()
    assert (label.name, Category.objects.count(), team.benchmark.endpoints.count()) == ("Media", 8, 0)
    assert Benchmark.objects.get().name == "Benchmark bench" and ItemEvent.objects.count() == events


def test_refusal_names_nothing_above_the_highest_role(team: Team) -> None:
    reply = team.client("ann").get("/b/bench/settings/")
    assert reply.status_code == 403
    assert "needs the role of an admin; you are an annotator" in reply.content.decode()
