"""Every address of the resolver, for every kind of person: who gets in, who sees no trace, and never an error of ours.

A new address is swept by itself. One with a part that is not known here fails, until the part is added to `PARTS`.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from annotation import actions as items
from annotation.models import Benchmark, StoredImage
from annotation.states import State
from audit import actions as audit
from evaluation import actions as evaluation
from lhdr_site.endpoints.models import Endpoint
from tests.annotation.test_images import png
from tests.audit.judging import bring_to
from tests.evaluation.setting import documents
from tests.factories import Team, make_team

PAGE_METHODS = ("GET", "POST")
API_METHODS = ("GET", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
OPEN = {"login", "signed-image"}  # without a log-in; static files and /healthz are answered by middleware
ROLES = ("ann", "aud", "core", "admin", "root")
ABSENT = "no-such-benchmark"


@dataclass(frozen=True)
class Address:
    """One pattern of the resolver with its parts filled in."""

    name: str
    path: str

    @property
    def of_benchmark(self) -> bool:
        return self.path.startswith((f"/b/{SLUG}/", f"/api/benchmarks/{SLUG}/"))


SLUG = "sweep"


@dataclass
class World:
    team: Team
    parts: dict[str, dict[str, Any]]
    addresses: list[Address]


def _patterns(resolver: Any, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern, route)
        else:
            yield route, pattern


_PART = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")


def _fill(route: str, parts: dict[str, dict[str, Any]]) -> str:
    """The route with a value for each part: that of the longest beginning of the route which has one."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        fitting = [start for start, values in parts.items() if route.startswith(start) and name in values]
        if not fitting:
            pytest.fail(f"The part <{name}> of {route} is not known to this test: add a value for it to its parts.")
        return str(parts[max(fitting, key=len)][name])

    return "/" + re.sub(r"\\Z|[$^]", "", _PART.sub(value, route)).replace("\\.", ".").replace("\\", "")


@pytest.fixture(autouse=True)
def _no_logs() -> Iterator[None]:
    """Thousands of refusals are nothing to tell."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def world(db: Any, settings: Any) -> World:
    """A benchmark with something at every address: items in several states, a picture, a comment, a release, a run."""
    team = make_team(SLUG)
    item = team.item()
    items.add_image(item, png(), "a.png", actor=team.ann)
    comment = items.add_comment(item, "Why?", actor=team.ann2)
    [locked_document] = documents(1, SLUG)
    bring_to(team, team.item(locked_document), State.LOCKED)
    release = audit.cut_release(team.benchmark, "r1", actor=team.admin)
    endpoint = Endpoint.objects.create(name="nowhere", base_url="http://127.0.0.1:9/v1")
    team.benchmark.endpoints.add(endpoint)
    system = {"name": "s", "endpoint": endpoint, "model": "m", "group": "tool_free_vlm", "family": "f"}
    judge = {"name": "j", "endpoint": endpoint, "model": "m"}
    run = evaluation.launch_run(
        team.benchmark,
        {
            "release": release,
            "system": evaluation.create_system(team.benchmark, system, actor=team.admin),
            "judges": [evaluation.create_judge(team.benchmark, judge, actor=team.admin)],
        },
        actor=team.admin,
    )
    response = run.responses.get()
    response.status, response.text = "completed", "337"
    response.save()
    picture = StoredImage.objects.get()
    page, api = "b/<slug>/", "b/<slug:slug>/"
    parts: dict[str, dict[str, Any]] = {
        "": {"slug": SLUG, "number": item.number, "sha256": picture.sha256, "name": release.name},
        f"{page}items/": {"pk": comment.pk, "section": "question", "criterion": "skip", "element": "c1"},
        f"{api}runs/": {"number": run.number, "pk": response.pk},
        "api/benchmarks/<slug:slug>/items/": {"section": "question"},
        "api/benchmarks/<slug:slug>/runs/": {"number": run.number, "pk": response.pk},
        "shared-images/": {"token": "no-token"},
        "help/": {"page": "index"},
        "admin/": {"url": "nothing", "app_label": "auth"},
        "admin/auth/user/": {"id": team.ann.pk, "object_id": team.ann.pk},
        "admin/r/": {"content_type_id": ContentType.objects.get_for_model(Benchmark).pk, "object_id": 1},
    }
    for model in admin.site._registry:
        start = f"admin/{model._meta.app_label}/{model._meta.model_name}/"
        first = model._default_manager.first()
        parts.setdefault(start, {"object_id": first.pk if first else 1})
    addresses = [Address(pattern.name or "", _fill(route, parts)) for route, pattern in _patterns(get_resolver())]
    return World(team, parts, addresses)


def _browser(user: Any) -> Client:
    client = Client(raise_request_exception=False)
    if user is not None:
        client.force_login(user)
    return client


def _ask(client: Client, method: str, path: str, **options: Any) -> Any:
    """One request; whatever it wrote is taken back, also a log-out."""
    session = client.cookies.get("sessionid")
    with transaction.atomic():
        reply = client.generic(method, path, **options)
        if reply.streaming:
            b"".join(reply)
        transaction.set_rollback(True)
    client.cookies.clear()
    if session is not None:
        client.cookies["sessionid"] = session.value
    return reply


def _content_types(address: Address, method: str) -> list[dict[str, Any]]:
    """An empty body: a form for pages, a JSON object for the API."""
    if method in ("GET", "HEAD", "OPTIONS"):
        return [{}]
    if address.path.startswith("/api/"):
        return [{"data": "{}", "content_type": "application/json"}, {}]
    return [{"content_type": "application/x-www-form-urlencoded"}, {"headers": {"HX-Request": "true"}}]


def _methods(address: Address) -> tuple[str, ...]:
    return API_METHODS if address.path.startswith("/api/") else PAGE_METHODS


def _sweep(world: World, user: Any) -> Iterator[tuple[Address, str, Any]]:
    client = _browser(user)
    for address in world.addresses:
        for method in _methods(address):
            for options in _content_types(address, method):
                yield address, method, _ask(client, method, address.path, **options)


def test_every_address_without_a_log_in_is_closed(world: World) -> None:
    wrong = []
    for address, method, reply in _sweep(world, None):
        to_log_in = reply.status_code == 302 and "/login/" in reply["Location"]
        closed = to_log_in or reply.status_code in (401, 403)
        if not closed and (address.name not in OPEN or reply.status_code >= 500):
            wrong.append(f"{method} {address.path}: {reply.status_code}")
    assert not wrong, "\n".join(wrong)


def test_every_address_of_a_benchmark_for_a_stranger_shows_no_trace_of_it(world: World) -> None:
    """Exactly the reply that a benchmark gets which does not exist, and nothing is done."""

    def plain(reply: Any) -> str:
        text = reply.content.decode().replace(SLUG, ABSENT)
        return re.sub(r'(csrf\w*"[^>]*value=|csrf[^"]*")"?[^">]*"', "", re.sub(r"[A-Za-z0-9]{64}", "", text))

    wrong = []
    client = _browser(world.team.stranger)
    for address in world.addresses:
        if not address.of_benchmark:
            continue
        for method in _methods(address):
            for options in _content_types(address, method):
                reply = _ask(client, method, address.path, **options)
                absent = _ask(client, method, address.path.replace(SLUG, ABSENT), **options)
                # A method that the address does not know is refused to everybody alike, before anything is looked up.
                good = reply.status_code in (404, 405) or (method == "OPTIONS" and reply.status_code == 200)
                if not good or reply.status_code != absent.status_code or plain(reply) != plain(absent):
                    wrong.append(f"{method} {address.path}: {reply.status_code} (absent: {absent.status_code})")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("who", ROLES)
def test_every_address_for_members_never_fails(world: World, who: str) -> None:
    wrong, seen = [], set()
    for address, method, reply in _sweep(world, getattr(world.team, who)):
        if reply.status_code >= 500:
            wrong.append(f"{method} {address.path}: {reply.status_code}")
        seen.add(reply.status_code)
    assert not wrong, "\n".join(wrong)
    assert {200, 403, 422} <= seen  # they were logged in, and in part refused


@pytest.mark.parametrize("form", ["systems/new/", "judges/new/", "runs/new/", "runs/1/judge/", "releases/cut/"])
def test_a_form_when_nothing_at_all_is_sent_names_its_fields(world: World, form: str) -> None:
    reply = _ask(
        _browser(world.team.admin), "POST", f"/b/{SLUG}/{form}", content_type="application/x-www-form-urlencoded"
    )
    assert reply.status_code == 422
    assert "This field is required" in reply.content.decode()


BIG = ("0", "99999999999999999999", "9" * 5000)
TEXT = ("x%00y", "%ED%A0%80", "é", "a" * 3000)


@pytest.mark.parametrize(
    ("part", "odd"), [("number", BIG), ("pk", BIG), ("object_id", (*BIG, *TEXT)), ("slug", TEXT), ("name", TEXT)]
)
def test_every_address_with_an_odd_part_is_no_such_page(world: World, part: str, odd: tuple[str, ...]) -> None:
    wrong = []
    client = _browser(world.team.root)
    for route, _pattern in _patterns(get_resolver()):
        if not re.search(rf"<(?:\w+:)?{part}>", route):
            continue
        # Django's own pages are not ours to try in every way.
        for value in odd[:1] if route.startswith("admin/") else odd:
            values = {start: each | ({part: value} if part in each else {}) for start, each in world.parts.items()}
            for method in ("GET", "POST"):
                reply = _ask(client, method, _fill(route, values))
                if reply.status_code >= 500 or (reply.status_code < 400 and not route.startswith("admin/")):
                    wrong.append(f"{method} {route} with {value[:30]}: {reply.status_code}")
    assert not wrong, "\n".join(wrong)
