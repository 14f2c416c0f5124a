"""The link check: what an answer means, whose turn a host is, what is kept, who may do what, and its pages."""

import datetime as dt
import io
import time
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Item, ItemEvent
from annotation.states import State
from audit import link_steps, linkcheck
from audit.link_actions import ask_checks, vouch_link
from audit.link_queries import links_of, open_links
from audit.models import AuditPlan, LinkCheck, LinkHost, LinkJob
from lhdr_site.shared.address_guard import fetch
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.audit.judging import bring_to, fresh
from tests.audit.linking import Pages, asked, check, item_of
from tests.factories import Team

HTMX = {"HX-Request": "true"}


# --- what an answer means -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("page", "ok", "Opens."),
        ("film", "ok", "not looked into"),
        ("404", "dead", "Answers 404"),
        ("410", "dead", "Answers 410"),
        ("401", "unverifiable", "log-in (401)"),
        ("403", "unverifiable", "refuses machines (403)"),
        ("429", "unverifiable", "asked too often (429)"),
        ("451", "unverifiable", "in this country (451)"),
        ("418", "unverifiable", "(418)"),
        ("wall", "unverifiable", "captcha"),
        ("soft", "unverifiable", "not found"),
        ("loop", "unverifiable", "without end"),
    ],
)
def test_answer_when_it_is_final_has_one_word_with_its_reason(
    team: Team, base: str, path: str, status: str, reason: str
) -> None:
    link = check(item_of(team, f"{base}/{path}"), team=team)["s1"]
    assert link.status == status and reason in link.machine.reason and link.job is None


def test_check_keeps_what_came_and_names_itself(team: Team, base: str, server: Pages) -> None:
    item = item_of(team, f"{base}/to/{base}/page", quote="rebuilt in 1889 by TWO brothers")
    row = check(item, team=team)["s1"].machine
    assert (row.http_status, row.final_url, row.redirects) == (200, f"{base}/page", [f"{base}/to/{base}/page"])
    assert (row.title, row.content_type, row.extract) == ("A page", "text/html", server.text)
    assert (row.quote_found, row.quote_score, row.changed, row.by_id) == (True, 100, None, None)
    assert len(row.content_hash) == 64 and row.milliseconds is not None
    assert asked(server) == ["GET /robots.txt", f"HEAD /to/{base}/page", "HEAD /page", f"GET /to/{base}/page",
                             "GET /page"]  # fmt: skip
    assert all(agent.startswith("LHDR-Workbench/1 (") for *_rest, agent in server.seen)


@pytest.mark.parametrize("refused", [403, 405, 501, 404])
def test_check_when_head_is_refused_asks_with_get(team: Team, base: str, server: Pages, refused: int) -> None:
    server.head = refused
    assert check(item_of(team, f"{base}/page"), team=team)["s1"].status == "ok"


@pytest.mark.parametrize("path", ["500", "503", "cut"])
def test_check_of_what_may_pass_is_tried_twice_more_and_then_said(team: Team, base: str, path: str) -> None:
    item = item_of(team, f"{base}/{path}")
    link = check(item, team=team)["s1"]
    for tries in (1, 2):
        assert link.status == "" and link.job.tries == tries and link.job.due > timezone.now() and link.job.note
        LinkJob.objects.update(due=timezone.now())
        link_steps.check_host(link.job.host)
        link = links_of(item)["s1"]
    assert link.status == "unverifiable" and link.job is None


def test_check_of_a_host_that_is_none_ends_as_dead(team: Team, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolver(host: str, port: int) -> list[str]:
        raise OSError

    monkeypatch.setattr(linkcheck, "fetch", partial(fetch, resolver=resolver))
    item = item_of(team, "https://no-such.example/")
    check(item, team=team)
    LinkJob.objects.update(due=timezone.now(), tries=2)
    link_steps.check_host("no-such.example")
    assert links_of(item)["s1"].status == "dead"


def test_check_of_a_link_that_never_ends_ends_in_time(team: Team, base: str, settings: Any) -> None:
    settings.LINK_SECONDS = 0.6
    item = item_of(team, f"{base}/drip")
    begun = time.monotonic()
    link = check(item, team=team)["s1"]
    assert time.monotonic() - begun < 3 and "too long" in link.job.note


# --- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://2130706433/", "ftp://a/b",
     "javascript:alert(1)", "", "http://u:p@example.org/", "http://[", "no address at all"],
)  # fmt: skip
def test_check_of_an_address_that_is_not_allowed_is_refused_and_says_why(team: Team, base: str, url: str) -> None:
    link = check(item_of(team, url), team=team)["s1"]
    assert link.status == "refused" and link.machine.reason.endswith(".")


def test_redirect_inside_and_a_name_that_leads_inside_reach_nothing(
    team: Team, base: str, server: Pages, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = check(item_of(team, f"{base}/to/http://10.0.0.1/secret"), team=team)["s1"]
    assert link.status == "refused" and "10.0.0.1 is not on the open Internet" in link.machine.reason
    settings.FETCH_ALLOW = []
    server.seen.clear()
    monkeypatch.setattr(linkcheck, "fetch", partial(fetch, resolver=lambda host, port: ["93.184.215.14", "127.0.0.1"]))
    for address in ("http://inside.example/", f"http://inside.example:{server.port}/page"):
        assert check(item_of(team, address), team=team)["s1"].status == "refused"
    assert not server.seen


# --- one host, one request ----------------------------------------------------------------------------------------


def test_a_host_is_left_alone_while_another_worker_asks_it(team: Team, base: str, server: Pages) -> None:
    item = item_of(team, f"{base}/page")
    ask_checks(item, actor=team.ann)
    host = LinkJob.objects.get().host
    LinkHost.objects.create(host=host, owner="0" * 32, lease_until=timezone.now() + dt.timedelta(minutes=1))
    assert link_steps.check_host(host) == 0 and link_steps.waiting_hosts(9) == [] and not server.seen
    LinkHost.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))  # it died
    assert link_steps.check_host(host) == 1
    assert LinkHost.objects.get().owner is None


def test_a_hundred_urls_of_one_host_take_their_pause(
    team: Team, base: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    settings.LINK_PAUSE = 2
    monkeypatch.setattr(link_steps, "sleep", slept.append)
    monkeypatch.setattr(
        linkcheck, "look_at", lambda url, rules: linkcheck.Answer("ok", "Opens.", text=url, content_hash=url[-64:])
    )
    item = item_of(team, *[f"{base}/page-{n}" for n in range(100)])
    check(item, team=team)
    assert LinkCheck.objects.count() == 100
    assert len(slept) == 99 and all(1.5 < seconds <= 2 for seconds in slept)


def test_a_url_of_several_items_is_asked_for_once_within_a_day(team: Team, base: str, server: Pages) -> None:
    one, two = item_of(team, f"{base}/page", quote="two brothers"), item_of(team, f"{base}/page", quote="three")
    ask_checks(one, actor=team.ann)
    check(two, team=team)
    assert asked(server).count("GET /page") == 1
    assert links_of(one)["s1"].machine.quote_found is True and links_of(two)["s1"].machine.quote_found is False
    later = check(item_of(team, f"{base}/page", quote="two  brothers"), team=team)["s1"]
    assert later.machine.quote_found is True and asked(server).count("GET /page") == 1
    check(one, "s1", team=team)  # asked for by name: anew
    assert asked(server).count("GET /page") == 2


def test_a_job_whose_source_changed_meanwhile_writes_nothing(team: Team, base: str, server: Pages) -> None:
    item = item_of(team, f"{base}/page")
    ask_checks(item, actor=team.ann)
    LinkJob.objects.update(url=f"{base}/other")
    link_steps.check_host(LinkJob.objects.get().host)
    assert not LinkCheck.objects.exists() and not LinkJob.objects.exists() and not server.seen


# --- changed, dead, and again -------------------------------------------------------------------------------------


def test_changed_and_dead_pages_are_told_and_the_item_stays_as_it_is(team: Team, base: str, server: Pages) -> None:
    item = item_of(team, f"{base}/page", f"{base}/page-2")
    check(item, team=team)
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    before = Item.objects.values("document_hash", "state", "updated", "findings").get(pk=item.pk)
    AuditPlan.objects.create(benchmark=team.benchmark, recheck_days=1)
    assert link_steps.ask_rechecks(team.benchmark) == 0  # not a day old
    later = timezone.now() + dt.timedelta(days=2)
    server.text = "Now it says something else."
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        assert link_steps.ask_rechecks(team.benchmark) == 2
        assert link_steps.ask_rechecks(team.benchmark) == 0  # asked for already
        link_steps.check_host(LinkJob.objects.all()[0].host)
    rows = LinkCheck.objects.filter(item=item).order_by("-pk")[:2]
    assert [row.changed for row in rows] == [True, True] and not LinkJob.objects.exists()
    assert ItemEvent.objects.filter(item=item, kind="link.changed", actor=None).count() == 2
    assert Item.objects.values("document_hash", "state", "updated", "findings").get(pk=item.pk) == before


def test_what_was_never_checked_is_not_asked_for_by_itself(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/page")
    Item.objects.filter(pk=item.pk).update(state=State.LOCKED)
    assert link_steps.ask_rechecks(team.benchmark) == 0


def test_checks_are_append_only(team: Team, base: str) -> None:
    check(item_of(team, f"{base}/page"), team=team)
    for write in (lambda: LinkCheck.objects.update(status="dead"), lambda: LinkCheck.objects.all().delete()):
        with pytest.raises(IntegrityError), transaction.atomic():
            write()


# --- people -------------------------------------------------------------------------------------------------------


def test_vouch_by_core_stands_until_the_machine_finds_it_dead(team: Team, base: str, server: Pages) -> None:
    item = item_of(team, f"{base}/403", author=team.ann)
    link = check(item, team=team)["s1"]
    assert open_links(fresh(item)) == ["s1"]
    vouch_link(item, "s1", link.url_hash, "Opens in a browser, p. 3", actor=team.core)
    link = check(item, "s1", team=team)["s1"]
    assert link.status == "ok" and link.machine.status == "unverifiable" and open_links(fresh(item)) == []
    LinkCheck.objects.create(item=item, source="s1", url=link.url, url_hash=link.url_hash, status="dead")
    assert links_of(item)["s1"].status == "dead" and open_links(fresh(item)) == ["s1"]


@pytest.mark.parametrize("who", ["ann", "ann2", "aud", "stranger"])
def test_vouch_by_others_than_core_is_refused(team: Team, base: str, who: str) -> None:
    item = item_of(team, f"{base}/page")
    with pytest.raises(NotAllowed):
        vouch_link(item, "s1", links_of(item)["s1"].url_hash, "Opened", actor=getattr(team, who))


def test_vouch_for_ones_own_item_without_a_note_or_for_another_url_is_refused(team: Team, base: str) -> None:
    own = item_of(team, f"{base}/page", author=team.core)
    with pytest.raises(NotAllowed, match="Nobody judges"):
        vouch_link(own, "s1", links_of(own)["s1"].url_hash, "Opened", actor=team.core)
    item = item_of(team, f"{base}/page")
    seen = links_of(item)["s1"].url_hash
    for note in ("", "  ", "x" * 301):
        with pytest.raises(Invalid) as caught:
            vouch_link(item, "s1", seen, note, actor=team.core)
        assert caught.value.details["problems"][0]["path"] == "note"
    for source, hashed in (("s1", "0" * 64), ("s9", seen)):
        with pytest.raises(Conflict):
            vouch_link(item, source, hashed, "Opened", actor=team.core)
    assert not LinkCheck.objects.exists()


def test_ask_checks_writes_one_event_and_one_job_a_source(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/page", f"{base}/404")
    ask_checks(item, actor=team.ann2)
    ask_checks(item, actor=team.ann2)
    assert LinkJob.objects.count() == 2
    assert ItemEvent.objects.filter(kind="links.asked", actor=team.ann2).count() == 2
    with pytest.raises(NotAllowed):
        ask_checks(item, actor=team.stranger)
    with pytest.raises(Invalid):
        ask_checks(item, ["s9"], actor=team.ann)


# --- pages --------------------------------------------------------------------------------------------------------


def url(name: str, item: Item, *parts: str) -> str:
    return reverse(f"audit:{name}", args=[item.benchmark.slug, item.number, *parts])


def test_pages_per_role(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/page")
    pages = [url("item-links", item), url("link", item, "s1")]
    pages += [reverse(f"audit:{name}", args=["bench"]) for name in ("link-list", "link-csv")]
    seen = {"seen": links_of(item)["s1"].url_hash, "note": "Opened"}
    for who, read, asks, vouches in (
        ("ann2", 200, 302, 403),
        ("aud", 200, 302, 403),
        ("core", 200, 302, 302),
        ("stranger", 404, 404, 404),
    ):
        client = team.client(who)
        assert {client.get(page).status_code for page in pages} == {read}, who
        assert client.post(url("links-check", item)).status_code == asks, who
        assert client.post(url("link", item, "s1"), seen).status_code == vouches, who
    assert team.client("ann").get(url("link", item, "s9")).status_code == 404


def test_item_page_and_fragments_show_the_words(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/page", f"{base}/404", quote="two brothers")
    client = team.client("core")
    assert "not checked" in client.get(url("item-links", item)).content.decode()
    waiting = client.post(url("links-check", item), headers=HTMX)
    assert 'hx-trigger="every 2s"' in waiting.content.decode() and waiting["HX-Trigger"] == "links-asked"
    link_steps.check_host(LinkJob.objects.all()[0].host)
    text = client.get(url("item-links", item), headers=HTMX).content.decode()
    assert "every 2s" not in text and "opens" in text and "dead" in text and "<html" not in text
    page = client.get(url("link", item, "s1")).content.decode()
    assert "quote found" in page and Pages.text in page and "HTTP 200" in page
    wrong = client.post(url("link", item, "s1"), {"seen": "x", "note": "kept <b>"}, headers=HTMX)
    assert wrong.status_code == 409 and 'value="kept &lt;b&gt;"' in wrong.content.decode()


def test_phase_4_shows_the_check_beside_each_source_in_few_queries(team: Team, base: str) -> None:
    item = bring_to(team, team.item(), State.FACTUAL_AUDIT)
    client = team.client("core")
    with CaptureQueriesContext(connection) as queries:
        text = client.get(reverse("audit:panel", args=["bench", item.number])).content.decode()
    assert text.count('class="wb-link"') == 8 and "I opened it myself: s1" in text
    assert sum("linkcheck" in query["sql"] for query in queries) == 1
    assert sum("linkjob" in query["sql"] for query in queries) == 1


def test_list_narrows_pages_and_counts_with_a_steady_number_of_queries(
    team: Team, base: str, server: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = item_of(team, *[f"{base}/{path}" for path in ("page", "404", "410", "403")], quote="no such words")
    check(item, team=team)
    client, address = team.client("ann"), reverse("audit:link-list", args=["bench"])
    with CaptureQueriesContext(connection) as few:
        text = client.get(address).content.decode()
    assert text.count("<tr>") == 4 and "quote not found" in text  # a head, two dead, one without the quote
    assert text.count('class="wb-gates"') == 3 and '"document"' not in str(few.captured_queries)
    assert client.get(address, {"show": "unverifiable"}).content.decode().count("<tr>") == 2
    assert "Nothing of this kind" in client.get(address, {"show": "refused"}).content.decode()
    check(item_of(team, *[f"{base}/404?{n}" for n in range(9)]), team=team)
    with CaptureQueriesContext(connection) as many:
        client.get(address)
    assert len(many) == len(few)
    monkeypatch.setattr("audit.views.links.PAGE", 5)
    first = client.get(address, {"show": "all"})
    assert first.content.decode().count("<tr>") == 6
    second = client.get(address, {"show": "all", "before": first.context["older"]})
    assert second.content.decode().count("<tr>") == 6 and second.context["rows"][0].pk < first.context["older"]
    one = client.get(address, {"show": "all", "item": f"#{item.number}"})
    assert {row.item_number for row in one.context["rows"]} == {item.number}
    for odd in ({"show": "x"}, {"before": "9" * 40}, {"item": "-1"}, {"before": "x", "item": "٣"}):
        assert client.get(address, odd).status_code == 200


def test_csv_holds_the_narrowed_list_and_no_formula(team: Team, base: str) -> None:
    item = item_of(team, "=HYPERLINK(1)", f"{base}/404")
    check(item, team=team)
    reply = team.client("ann").get(reverse("audit:link-csv", args=["bench"]), {"show": "all"})
    lines = b"".join(reply).decode().splitlines()  # type: ignore[arg-type]
    assert len(lines) == 3 and lines[0].startswith("\ufeffitem,state,source,url,status")
    assert any(",'=HYPERLINK(1),refused," in line for line in lines)


def test_command_checks_here_and_now_and_says_what_came(team: Team, base: str) -> None:
    item = item_of(team, f"{base}/page", f"{base}/404", f"{base}/500")
    other = item_of(team, f"{base}/410")
    out = io.StringIO()
    call_command("check_links", "bench", "--item", str(item.number), stdout=out)
    text = out.getvalue()
    assert f"#{item.number} s1 ok: Opens. ({base}/page)" in text and f"#{item.number} s2 dead: " in text
    assert f"#{item.number} s3 later: " in text and "1 ok, 1 dead, 0 unverifiable, 0 refused, 1 to be tried" in text
    assert f"#{other.number} " not in text
    with pytest.raises(CommandError, match="No such item"):
        call_command("check_links", "bench", "--item", "999", stdout=out)
