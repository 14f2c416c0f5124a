"""Trying a system out: one request within the endpoint's limits, shown in full and kept apart from all responses."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation import claims, errands, generations, steps
from evaluation.ledger import ledger_page
from evaluation.models import Attempt, Response, System, Tryout
from evaluation.queries import calls_under_way
from evaluation.try_actions import cancel_tryout, try_system
from lhdr_site.endpoints import client as http
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import Setting, make_setting

ROLES = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


def try_it(setting: Setting, system: System | None = None, **data: Any) -> Tryout:
    data = {"release": setting.release, **data}
    return try_system(system or setting.system, actor=setting.team.admin, **data)


def url(name: str, system: System, *more: int) -> str:
    return reverse(f"evaluation:{name}", args=[system.benchmark.slug, system.pk, *more])


# --- the call -----------------------------------------------------------------------------------------------------


def test_tryout_sends_what_a_run_would_send_and_is_kept_apart_from_responses(setting: Setting) -> None:
    run = setting.launch()
    steps.answer(run.responses.order_by("pk").first().pk)
    as_run = setting.server.requests.pop()
    setting.server.requests.clear()
    responses = Response.objects.count()
    row = try_it(setting)
    errands.run_errands(60)
    row.refresh_from_db()
    assert (row.status, row.returned_model) == ("completed", "demo-system (demo)") and row.text.startswith("Demo")
    assert [sent["body"] for sent in setting.server.requests] == [as_run["body"]]
    assert row.cost == row.attempts.get().cost and row.cost
    assert Response.objects.count() == responses
    run.refresh_from_db()
    assert Attempt.objects.exclude(tryout=None).count() == 1 and run.spent == Attempt.objects.get(tryout=None).cost


def test_tryout_takes_the_item_and_condition_that_were_chosen(setting: Setting) -> None:
    item = setting.release.release_items.order_by("position")[2].item.number
    assert try_it(setting, item=item, condition="without_image").release_item.item.number == item
    assert Tryout.objects.get().condition == "without_image"


def test_tryout_that_fails_shows_the_failure_at_once_and_asks_no_more(setting: Setting) -> None:
    row = try_it(setting, setting.misbehaving("html_502"))
    errands.run_errands(60)
    row.refresh_from_db()
    assert (row.status, row.error_kind, row.tries) == ("failed", "overloaded", 1)
    assert row.attempts.get().body.startswith("<html>")


def test_tryout_that_is_told_to_wait_waits_and_holds_back_the_others(setting: Setting) -> None:
    row = try_it(setting, setting.misbehaving("rate_limited", retry_after=30))
    errands.run_errands(60)
    row.refresh_from_db()
    setting.endpoint.refresh_from_db()
    assert row.status == "pending" and setting.endpoint.blocked_until > timezone.now() + timedelta(seconds=20)
    assert claims.claim_next(setting.launch().pk) is None


def test_tryout_waits_for_a_free_slot_and_takes_one(setting: Setting) -> None:
    Endpoint.objects.update(slots=1)
    run = setting.launch()
    held = claims.claim_next(run.pk)
    row = try_it(setting)
    errands.run_errands(60)
    row.refresh_from_db()
    assert row.status == "pending", "the slot is taken"
    assert isinstance(held, claims.Claim) and held.write(status="pending", owner=None, lease_until=None)
    mine = claims.claim_errand()
    assert isinstance(mine, claims.Claim) and mine.model is Tryout
    assert claims.claim_next(run.pk) is None and calls_under_way([setting.endpoint]) == {setting.endpoint.pk: 1}


def test_tryout_of_a_worker_that_died_has_failed_and_is_not_paid_again(setting: Setting) -> None:
    row = try_it(setting)
    assert claims.claim_errand()
    Tryout.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    errands.sweep_errands()
    row.refresh_from_db()
    assert (row.status, row.error_kind) == ("failed", "lost") and not row.is_open


def test_tryout_in_the_background_is_cancelled_at_the_endpoint(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    Endpoint.objects.update(wire="openai-responses")
    row = try_it(setting, setting.misbehaving("never_done"))

    def stop(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(http, "_await", stop)
    with pytest.raises(KeyboardInterrupt):
        errands.run_errands(60)
    generation = setting.server.generations[row.attempts.get().awaited]
    cancel_tryout(row, actor=setting.team.admin)
    assert generations.cancel_unwanted() == 1 and generation.cancelled
    with pytest.raises(Conflict):
        cancel_tryout(row, actor=setting.team.admin)


def test_tryout_stands_in_the_exposure_ledger(setting: Setting) -> None:
    try_it(setting)
    errands.run_errands(60)
    [entry], _next = ledger_page(setting.benchmark)
    assert (entry.how, entry.name, entry.vendor) == ("tryout", setting.system.name, "demo")
    assert entry.item == setting.release.release_items.order_by("position").first().item.number


# --- what is refused ----------------------------------------------------------------------------------------------


def test_tryout_when_it_cannot_be_is_refused_with_nothing_written(setting: Setting) -> None:
    other = make_setting(setting.server, 1, "other")
    for field, data in (
        ("item", {"item": 999}),
        ("release", {"release": other.release}),
        ("condition", {"condition": "x"}),
    ):
        with pytest.raises(Invalid) as caught:
            try_it(setting, **data)
        assert caught.value.details["problems"][0]["path"] == field
    with pytest.raises(NotAllowed):
        try_system(setting.system, release=setting.release, actor=setting.team.core)
    with pytest.raises(Invalid):
        try_it(setting, setting.new_system(endpoint=None))
    assert not Tryout.objects.exists()


def test_tryout_while_another_goes_on_or_the_endpoint_is_broken_is_a_conflict(setting: Setting) -> None:
    try_it(setting)
    with pytest.raises(Conflict):
        try_it(setting)
    Tryout.objects.update(status="failed")
    Endpoint.objects.update(broken="The key is refused.")
    with pytest.raises(Conflict, match="The key is refused"):
        try_it(setting)


# --- pages and API ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_try_it_when_posted_by_role_is_for_admins_only(setting: Setting, who: str, expected: int) -> None:
    data = {"release": setting.release.pk, "item": "", "condition": "with_image"}
    reply = setting.team.client(who).post(url("system-try", setting.system), data)
    assert reply.status_code == expected and Tryout.objects.exists() == (expected == 302)


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("admin", 200), ("stranger", 404)])
def test_pages_of_a_system_when_asked_by_role_answer_members_only(setting: Setting, who: str, expected: int) -> None:
    row = try_it(setting)
    errands.run_errands(60)
    browser = setting.team.client(who)
    for address in (url("system-page", setting.system), url("tryout-page", setting.system, row.pk)):
        reply = browser.get(address)
        assert reply.status_code == expected
        if expected == 200:
            assert "Not kept among the responses" in reply.content.decode()
    assert ("Send one request" in browser.get(url("system-page", setting.system)).content.decode()) == (who == "admin")


def test_tryout_page_hides_the_key_and_asks_for_itself_until_it_has_ended(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LHDR_KEY_DEMO", "sk-very-secret")
    Endpoint.objects.update(key_variable="LHDR_KEY_DEMO")
    row = try_it(setting)
    browser, address = setting.team.client("admin"), url("tryout-page", setting.system, row.pk)
    waiting = browser.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "hx-get" in waiting and "<html" not in waiting
    errands.run_errands(60)
    done = browser.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "hx-get" not in done and "Demo answer" in done and "[LHDR_KEY_DEMO]" in done
    assert "sk-very-secret" not in done
    assert setting.server.requests[-1]["headers"]["Authorization"] == "Bearer sk-very-secret"


def test_try_it_when_refused_says_why_beside_the_field(setting: Setting) -> None:
    data = {"release": setting.release.pk, "item": "999", "condition": "with_image"}
    reply = setting.team.client("admin").post(url("system-try", setting.system), data)
    assert reply.status_code == 422 and "holds no item #999" in reply.content.decode()


def test_system_page_asks_a_fixed_number_of_queries(setting: Setting, django_assert_max_num_queries: Any) -> None:
    for _ in range(6):
        try_it(setting)
        errands.run_errands(60)
    browser = setting.team.client("admin")
    browser.get(url("system-page", setting.system))
    with django_assert_max_num_queries(18):
        browser.get(url("system-page", setting.system))


@pytest.mark.parametrize(("who", "expected"), [("ann", 403), ("core", 403), ("admin", 202), ("stranger", 404)])
def test_api_tries_a_system_and_tells_what_came(setting: Setting, who: str, expected: int) -> None:
    browser = setting.team.client(who)
    base = f"/api/benchmarks/{setting.benchmark.slug}/systems/{setting.system.pk}"
    reply = browser.post(f"{base}/try/", {"release": "r1"}, content_type="application/json")
    assert reply.status_code == expected
    if expected != 202:
        return
    made = reply.json()
    assert (made["status"], made["request"], made["reply"]) == ("pending", None, "")
    errands.run_errands(60)
    found = browser.get(f"{base}/tries/{made['id']}/").json()
    assert (found["status"], found["http_status"], found["item"]) == ("completed", 200, made["item"])
    assert found["request"]["model"] == "demo-system" and '"choices"' in found["reply"]
    assert browser.post(f"{base}/tries/{made['id']}/cancel/").status_code == 409
    assert browser.post(f"{base}/try/", {"release": "no"}, content_type="application/json").status_code == 422
