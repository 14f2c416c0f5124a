"""Until a blind audit is ended, its auditor sees nowhere what others made of the item: one test a surface."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.comment_actions import add_comment
from annotation.listing import activity
from annotation.mail_steps import send_mail
from annotation.models import Item, Notice
from annotation.notices import open_count
from annotation.states import State
from annotation.suggestion_actions import suggest_edit
from audit import second_actions as second
from audit.models import BlindAudit, Errata
from lhdr_site.shared.errors import NotAllowed
from tests.factories import Team

from .judging import answer, answer_phase, bring_to, finish, fresh
from .test_second import audit_blind

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def audit(team: Team) -> BlindAudit:
    """Of an item that passed phase 2, with a failed gate, and something said about it; the admin took it."""
    item = bring_to(team, team.item(), State.MULTIMODAL_AUDIT)
    answer(item, team.aud, "non_text", passed=False, comment="FIRST-FAIL")
    add_comment(fresh(item), "FIRST-COMMENT", actor=team.aud, anchor="c1")
    suggest_edit(fresh(item), "question", "FIRST-EDIT?", actor=team.aud)
    add_comment(fresh(item), "OWN-COMMENT", actor=team.admin)
    Item.objects.filter(pk=item.pk).update(auditor=team.admin, due=dt.date.today())
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    return second.take_blind_audit(audit, actor=team.admin)


def page(name: str, *args: Any, **headers: Any) -> Callable[[Client], str]:
    def read(client: Client) -> str:
        reply = client.get(reverse(name, args=["bench", *args]), **headers)
        body = b"".join(reply) if reply.streaming else reply.content  # type: ignore[arg-type]
        return body.decode()

    return read


@pytest.mark.parametrize(
    ("read", "shows"),
    [
        (page("annotation:item-page", 1), "failed (bench-aud"),
        (page("annotation:item-list"), "Multimodal necessity: failed (bench-aud"),
        (page("annotation:list-csv"), "multimodal:failed"),
        (page("audit:queue"), "Multimodal necessity: failed (bench-aud"),
        (page("annotation:benchmark-home"), "Multimodal necessity: failed (bench-aud"),
        (page("annotation:comments-panel", 1), "FIRST-COMMENT"),
        (page("annotation:comments-panel", 1), "FIRST-EDIT"),
        (page("evaluation:probe-panel", 1), "probe-panel"),
        (page("api-items"), '"multimodal":"failed"'),
        (page("api-item", 1), '"multimodal":"failed"'),
        (page("api-comments", 1), "FIRST-COMMENT"),
        (page("api-suggestions", 1), "FIRST-EDIT"),
    ],
)
def test_surface_hides_what_others_made_of_it_until_the_audit_is_ended(
    team: Team, audit: BlindAudit, read: Callable[[Client], str], shows: str
) -> None:
    client = team.client("admin")
    assert shows not in read(client)
    audit_blind(audit, team.admin)
    assert shows in read(client)


def test_surfaces_say_why(team: Team, audit: BlindAudit) -> None:
    client = team.client("admin")
    text = page("annotation:item-page", 1)(client)
    assert text.count("hidden while you audit it blind") == 7 and "You audit this item blind" in text
    assert "hidden while you audit it blind" in page("annotation:item-list")(client)
    said = page("annotation:comments-panel", 1)(client)
    assert "what others said is hidden" in said and "OWN-COMMENT" in said
    assert '"multimodal":"hidden"' in page("api-item", 1)(client)
    refused = client.get(reverse("evaluation:probe-panel", args=["bench", 1]))
    assert refused.status_code == 403 and "You audit this item blind" in refused.content.decode()


def test_lists_by_gate_leave_it_out(team: Team, audit: BlindAudit) -> None:
    address = reverse("annotation:item-list", args=["bench"])
    for who, shown in (("core", 1), ("admin", 0)):
        reply = team.client(who).get(address, {"gate": "failed"})
        assert len(reply.context["items"]) == shown, who


def test_news_of_it_are_kept_back(team: Team, audit: BlindAudit) -> None:
    def told() -> bool:
        return "item.passed" in {event.kind for event in activity([team.benchmark], team.admin, 99)}

    assert not told()
    audit_blind(audit, team.admin)
    assert told()


def test_nobody_moves_what_they_audit_blind(team: Team, audit: BlindAudit) -> None:
    item = fresh(audit.item)
    with pytest.raises(NotAllowed, match="blind"):
        finish(item, team.admin)
    answer_phase(item, team.aud)
    assert fresh(finish(item, team.aud)).state == State.FACTUAL_AUDIT


def test_errata_are_hidden_but_for_ones_own(team: Team, audit: BlindAudit) -> None:
    revision = audit.item.revisions.latest("number")
    theirs, own = (
        Errata.objects.create(item=audit.item, revision=revision, kind="answer", grounds=text, author=person)
        for text, person in (("FIRST-FAULT", team.core), ("OWN-FAULT", team.admin))
    )
    client = team.client("admin")
    lists = [
        page("audit:errata-list"), page("audit:item-errata", 1), page("api-errata"), page("api-item-errata", 1),
    ]  # fmt: skip
    pages = [reverse(name, args=["bench", theirs.pk]) for name in ("audit:erratum", "api-erratum")]
    for read in lists:
        assert "OWN-FAULT" in read(client) and "FIRST-FAULT" not in read(client)
    assert [client.get(address).status_code for address in pages] == [403, 403]
    assert client.get(reverse("audit:erratum", args=["bench", own.pk])).status_code == 200
    audit_blind(audit, team.admin)
    for read in lists:
        assert "FIRST-FAULT" in read(client)
    assert [client.get(address).status_code for address in pages] == [200, 200]


def test_what_was_said_to_them_waits_and_so_does_its_mail(team: Team, audit: BlindAudit, mailoutbox: list[Any]) -> None:
    User.objects.filter(pk=team.admin.pk).update(email="admin@example.org")
    Notice.objects.all().delete()
    add_comment(fresh(audit.item), "FIRST-MENTION for @bench-admin", actor=team.aud)
    client = team.client("admin")

    def told() -> tuple[bool, int, int]:
        Notice.objects.update(due=timezone.now())
        send_mail(team.admin.pk)
        inbox = client.get(reverse("annotation:inbox")).content.decode()
        return "FIRST-MENTION" in inbox, open_count(team.admin), len(mailoutbox)

    assert told() == (False, 0, 0)
    assert Notice.objects.get(user=team.admin).mail == Notice.Mail.WAITING
    audit_blind(audit, team.admin)
    assert told() == (True, 1, 1)
