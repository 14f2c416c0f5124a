"""The link check keeps to robots.txt, and reads PDFs as far as a machine can."""

import datetime as dt

import pytest
from django.utils import timezone

from audit import linkcheck
from audit.models import LinkHost
from tests.audit.linking import Pages, asked, check, item_of
from tests.audit.test_pdftext import pdf_of
from tests.factories import Team

# --- robots -------------------------------------------------------------------------------------------------------


def test_robots_that_forbid_are_kept_to_and_read_once_a_day(team: Team, base: str, server: Pages) -> None:
    server.robots = "User-agent: LHDR-Workbench\nDisallow: /page-1\n\nUser-agent: *\nDisallow: /"
    links = check(item_of(team, f"{base}/page-1", f"{base}/page-2"), team=team)
    assert [link.status for link in links.values()] == ["unverifiable", "ok"]
    assert "robots.txt" in links["s1"].machine.reason
    assert asked(server) == ["GET /robots.txt", "HEAD /page-2", "GET /page-2"]
    server.seen.clear()
    check(item_of(team, f"{base}/page-3"), team=team)
    assert "GET /robots.txt" not in asked(server)
    LinkHost.objects.update(robots_read=timezone.now() - dt.timedelta(days=2))
    check(item_of(team, f"{base}/page-4"), team=team)
    assert "GET /robots.txt" in asked(server)


def test_robots_that_fail_let_the_page_wait(team: Team, base: str, server: Pages) -> None:
    server.robots = "503"
    link = check(item_of(team, f"{base}/page"), team=team)["s1"]
    assert link.job.tries == 1 and asked(server) == ["GET /robots.txt"]


def test_robots_rules_hold_wildcards_ends_and_the_longest_match(team: Team, base: str, server: Pages) -> None:
    server.robots = "User-agent: *\nDisallow: /*-1$\nDisallow: /page-2\nAllow: /page-22\nDisallow: /*?print="
    paths = ("page-1", "page-1/more", "page-2", "page-22", "page-3?print=1")
    links = check(item_of(team, *[f"{base}/{path}" for path in paths]), team=team)
    assert [link.status for link in links.values()] == ["unverifiable", "ok", "unverifiable", "ok", "unverifiable"]


def test_robots_of_hosts_that_redirects_lead_to_are_kept_to(team: Team, base: str, server: Pages) -> None:
    other = Pages()
    there = f"http://127.0.0.1:{other.port}"
    try:
        other.robots = "User-agent: *\nDisallow: /page-1"
        server.robots = "User-agent: *\nDisallow: /page-9"
        paths = (f"to/{there}/page-1", f"to/{there}/page-2", f"to/{base}/page-9")
        links = check(item_of(team, *[f"{base}/{path}" for path in paths]), team=team)
        assert [link.status for link in links.values()] == ["unverifiable", "ok", "unverifiable"]
        assert f"127.0.0.1:{other.port} asks in its robots.txt" in links["s1"].machine.reason
        assert asked(other) == ["GET /robots.txt", "HEAD /page-2", "GET /page-2"] and "HEAD /page-9" not in asked(
            server
        )
        LinkHost.objects.filter(host=f"127.0.0.1:{other.port}").update(robots_read=None)
        other.robots = "503"
        link = check(item_of(team, f"{base}/to/{there}/page-3"), team=team)["s1"]
        assert link.job.tries == 1 and "robots.txt" in link.job.note
    finally:
        other.http.shutdown()


# --- PDFs ---------------------------------------------------------------------------------------------------------


def test_quote_is_found_in_a_pdf(team: Team, base: str, server: Pages) -> None:
    server.pdfs = {"a.pdf": pdf_of("page one", "The bridge was re-\nbuilt in 1889.", title="A report")}
    link = check(item_of(team, f"{base}/a.pdf", quote="The bridge was rebuilt"), team=team)["s1"]
    assert (link.status, link.machine.quote_found, link.machine.title) == ("ok", True, "A report")
    assert link.machine.extract == "page one The bridge was rebuilt in 1889." and link.machine.content_hash


@pytest.mark.parametrize("head", [200, 405])
def test_pdf_larger_than_a_page_is_read_whole(team: Team, base: str, server: Pages, head: int) -> None:
    server.head = head
    server.pdfs = {"a.pdf": pdf_of("The bridge", title="x" * linkcheck.MAX_BYTES)}
    assert check(item_of(team, f"{base}/a.pdf", quote="bridge"), team=team)["s1"].machine.quote_found is True


@pytest.mark.parametrize(
    ("body", "reason"),
    [(pdf_of("x", password="word"), "encrypted"), (pdf_of(""), "no text"), (b"%PDF-1", "broken"), (b"", "too large")],
    ids=["encrypted", "no text", "broken", "too large"],
)
def test_pdf_that_no_machine_can_read_is_unverifiable(
    team: Team, base: str, server: Pages, monkeypatch: pytest.MonkeyPatch, body: bytes, reason: str
) -> None:
    if reason == "too large":
        body = pdf_of("x" * 200)
        monkeypatch.setattr(linkcheck, "PDF_BYTES", 100)
    server.pdfs = {"a.pdf": body}
    link = check(item_of(team, f"{base}/a.pdf", quote="x"), team=team)["s1"]
    assert link.status == "unverifiable" and reason in link.machine.reason and link.machine.quote_found is None


def test_quote_is_not_missed_in_what_was_not_read(team: Team, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = linkcheck.Answer("ok", "Opens.", text="the first pages", content_hash="0" * 64, cut=True)
    monkeypatch.setattr(linkcheck, "look_at", lambda url, rules: answer)
    one = check(item_of(team, f"{base}/a.pdf", quote="the last pages of it all"), team=team)["s1"]
    assert one.machine.quote_found is None and one.machine.quote_score is None
    two = check(item_of(team, f"{base}/b.pdf", quote="the first pages"), team=team)["s1"]
    assert two.machine.quote_found is True
