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
from annotation import bulk, comment_actions, image_actions, list_actions, seed_actions
from annotation.models import Benchmark, StoredImage
from annotation.states import State
from annotation.suggestion_actions import suggest_edit
from audit import errata_actions, release_actions, second_actions
from audit.models import GradeCheck, PilotBatch, Probe
from evaluation import actions as evaluation
from evaluation import study_actions
from evaluation.marking_actions import plan_marking
from evaluation.try_actions import try_system
from lhdr_site.endpoints.models import Endpoint
from tests.annotation.test_images import png
from tests.audit.judging import bring_to
from tests.conftest import kept
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


@pytest.fixture(scope="module")
def kept_world(request: pytest.FixtureRequest, django_db_setup: Any, django_db_blocker: Any) -> Iterator[Any]:
    yield from kept(request, django_db_blocker, "world", make_world)


@pytest.fixture
def world(kept_world: World, db: Any) -> World:
    return kept_world


def make_world() -> World:
    """A benchmark with something at every address: items in several states, a picture, a comment, a release, a run."""
    team = make_team(SLUG)
    item = team.item()
    image_actions.add_images(item, [("a.png", png())], actor=team.ann)
    comment = comment_actions.add_comment(item, "Why?", actor=team.ann2)
    suggestion = suggest_edit(item, "question", "Another question?", actor=team.ann2)
    [locked_document] = documents(1, SLUG)
    locked = bring_to(team, team.item(locked_document), State.LOCKED)
    erratum = errata_actions.flag_item(locked, "answer", "It is 338.", actor=team.ann2)
    [blind] = second_actions.ask_double_audits(team.benchmark, [locked.number], actor=team.core)
    batch = PilotBatch.objects.create(benchmark=team.benchmark, annotator=team.ann, number=1, created_by=team.core)
    batch.items.add(item)
    release = release_actions.cut_release(team.benchmark, "r1", actor=team.admin)
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
    system_row, judge_row = run.system, run.main_judge
    study = study_actions.create_study(
        team.benchmark,
        {"name": "Spring", "release": release, "systems": [system_row], "judges": [judge_row]},
        actor=team.admin,
    )
    asked = {"item": item, "revision": item.revisions.get(number=item.revision_number), "requested_by": team.aud,
             "section_hashes": item.section_hashes, "endpoint": endpoint}  # fmt: skip
    probe = Probe.objects.create(
        **asked,
        system=system_row.pk,
        system_name="s",
        judge=judge_row.pk,
        with_image=False,
        status="completed",
        text="1",
    )
    tryout = try_system(system_row, release=release, condition="without_image", actor=team.admin)
    check = GradeCheck.objects.create(**asked, judge=judge_row.pk, judge_name="j", status="broken")
    content = {"checklist": [*item.document["checklist"], {"key": "c99"}]}
    strikes = [{"key": "c99", "reason": "redundant"}]
    base = item.section_hashes["checklist"]
    items.save_section(item, "checklist", content, base, actor=team.ann, struck=strikes)
    struck = item.struck_steps.get()
    [seed] = seed_actions.add_seeds(team.benchmark, seed_actions.seeds_in("A bridge"), actor=team.ann)
    view = list_actions.save_view(team.benchmark, "All", "", shared=True, actor=team.core)
    change = bulk.start_change(
        team.benchmark, bulk.KINDS["set_category"], [item.pk], {"value": "people"}, actor=team.ann
    )
    response = run.responses.get()
    response.status, response.text = "completed", "337"
    response.save()
    plan_marking(run, "random", 1, 1, actor=team.admin)
    picture = StoredImage.objects.get()
    page, api = "b/<slug>/", "b/<slug:slug>/"
    parts: dict[str, dict[str, Any]] = {
        "": {
            "slug": SLUG,
            "number": item.number,
            "sha256": picture.sha256,
            "name": release.name,
            "other": release.name,
            "version": "lhdr-1",
            "position": 1,
        },
        f"{page}items/": {
            "pk": comment.pk,
            "section": "question",
            "criterion": "skip",
            "element": "c1",
            "source": "s1",
            "key": "i1",
        },
        f"{page}audit/pilot/": {"pk": batch.pk},
        f"{page}images/": {"x": 100, "y": 100, "width": 2000, "height": 2000},
        f"{page}items/<int:number>/checklist/struck/": {"pk": struck.pk},
        f"{page}items/<int:number>/images/": {"key": item.document["images"][0]["key"]},
        f"{page}images/<sha256>/": {"x": 0, "y": 0, "width": 10, "height": 10},
        f"{api}results/": {"key": "gaps", "table": "answer-gap"},
        "api/benchmarks/<slug:slug>/results/": {"key": "gaps"},
        f"{page}items/bulk/": {"pk": change.pk},
        f"{page}ideas/": {"pk": seed.pk},
        f"{page}audit/second/": {"pk": blind.pk, "criterion": "chain"},
        f"{page}errata/": {"pk": erratum.pk},
        "api/benchmarks/<slug:slug>/errata/": {"pk": erratum.pk},
        f"{page}items/views/": {"pk": view.pk},
        f"{page}items/<int:number>/paste/": {"name": "checklist"},
        f"{page}items/<int:number>/suggestions/": {"pk": suggestion.pk},
        f"{api}studies/": {"number": study.number},
        "api/benchmarks/<slug:slug>/studies/": {"number": study.number},
        f"{api}endpoints/": {"pk": endpoint.pk},
        f"{api}judges/": {"pk": judge_row.pk},
        f"{api}systems/": {"pk": system_row.pk, "tryout": tryout.pk},
        "api/benchmarks/<slug:slug>/systems/": {"pk": system_row.pk, "tryout": tryout.pk},
        "api/benchmarks/<slug:slug>/judges/": {"pk": judge_row.pk},
        "api/benchmarks/<slug:slug>/marking/": {"number": 1},
        f"{api}marking/": {"number": 1, "position": 1},
        f"{api}runs/": {"number": run.number, "pk": response.pk},
        f"{api}items/<int:number>/probes/": {"pk": probe.pk},
        f"{api}items/<int:number>/gradeability/": {"pk": check.pk},
        "api/benchmarks/<slug:slug>/items/<int:number>/suggestions/": {"pk": suggestion.pk},
        "api/benchmarks/<slug:slug>/items/": {"pk": comment.pk, "section": "question", "source": "s1"},
        "api/benchmarks/<slug:slug>/items/<int:number>/candidates/": {"pk": 1},
        "api/benchmarks/<slug:slug>/items/<int:number>/struck/": {"pk": struck.pk},
        "api/benchmarks/<slug:slug>/items/<int:number>/probes/": {"pk": probe.pk},
        "api/benchmarks/<slug:slug>/items/<int:number>/gradeability/": {"pk": check.pk},
        "api/benchmarks/<slug:slug>/audit/pilot/": {"pk": batch.pk},
        "api/benchmarks/<slug:slug>/audit/second/": {"pk": blind.pk},
        "api/benchmarks/<slug:slug>/ideas/": {"pk": seed.pk},
        "api/notices/": {"pk": comment.notices.get().pk},
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


def _sweep(world: World, user: Any, in_every_form: bool = True) -> Iterator[tuple[Address, str, Any]]:
    client = _browser(user)
    for address in world.addresses:
        for method in _methods(address):
            for options in _content_types(address, method)[: None if in_every_form else 1]:
                reply = _ask(client, method, address.path, **options)
                yield address, method, reply
                if reply.status_code == 405:
                    break


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
    # What an empty body is sent as matters once people are let in at all: those who may all, and those who may little.
    for address, method, reply in _sweep(world, getattr(world.team, who), in_every_form=who in ("ann", "admin")):
        if reply.status_code >= 500:
            wrong.append(f"{method} {address.path}: {reply.status_code}")
        seen.add(reply.status_code)
    assert not wrong, "\n".join(wrong)
    assert {200, 403, 422} <= seen  # they were logged in, and in part refused


def test_forms_when_nothing_at_all_is_sent_name_their_fields(world: World) -> None:
    client = _browser(world.team.admin)
    for form in (
        "systems/new/",
        "judges/new/",
        "prompts/new/",
        "marking/new/",
        "runs/new/",
        "runs/import/",
        "runs/1/import/",
        "runs/1/judge/",
        "studies/new/",
        "takedowns/",
    ):
        reply = _ask(client, "POST", f"/b/{SLUG}/{form}", content_type="application/x-www-form-urlencoded")
        assert reply.status_code == 422, form
        assert "This field is required" in reply.content.decode(), form


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
            for method in ("GET", "POST") if value is odd[0] else ("GET",):
                reply = _ask(client, method, _fill(route, values))
                if reply.status_code >= 500 or (reply.status_code < 400 and not route.startswith("admin/")):
                    wrong.append(f"{method} {route} with {value[:30]}: {reply.status_code}")
    assert not wrong, "\n".join(wrong)
