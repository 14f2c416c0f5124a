"""Who is told what, the mail about it, and what stands on the home page until it is done."""

import datetime as dt
import email
import email.policy
import smtplib
import socketserver
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail as outbox
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import benchmark_actions, comment_actions, mail_steps, notice_actions, notices, tasks
from annotation.models import Item, Mention, Notice, Preferences
from audit import actions as audit
from tests.factories import Team

Kind = Notice.Kind


def told(user: Any) -> list[str]:
    return [n.kind for n in Notice.objects.filter(user=user).order_by("pk")]


def make_due(**filters: Any) -> None:
    Notice.objects.filter(**filters).update(due=timezone.now() - dt.timedelta(seconds=1))


def send_all() -> list[Any]:
    make_due(mail=Notice.Mail.WAITING)
    tasks.send_mails()
    return list(getattr(outbox, "outbox", []))


# --- who is told --------------------------------------------------------------------------------------------------


def test_a_comment_tells_each_person_once_and_a_mention_before_all(team: Team) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "Why, @bench-ann?", actor=team.aud)
    assert told(team.ann) == [Kind.MENTION]  # the author is not told a second time of a comment on their item
    comment_actions.add_comment(item, "Because.", actor=team.ann2, parent=thread)
    assert (told(team.aud), told(team.ann)) == ([Kind.ANSWER], [Kind.MENTION, Kind.COMMENT])
    assert told(team.ann2) == []  # nobody is told of what they did


def test_coeditors_are_told_like_the_author(team: Team) -> None:
    from annotation import actions

    item = team.item()
    actions.set_coeditors(item, [team.ann2], actor=team.ann)
    comment_actions.add_comment(item, "Hm.", actor=team.aud)
    assert told(team.ann) == told(team.ann2) == [Kind.COMMENT]


def test_nobody_outside_the_benchmark_is_told(team: Team) -> None:
    item = team.item()
    rows = notice_actions.notify([team.stranger, team.core], Kind.ASSIGNED, item, actor=team.admin, text="By Friday")
    assert [row.user_id for row in rows] == [team.core.pk]
    team.core.is_active = False
    team.core.save()
    assert notice_actions.notify([team.core], Kind.ASSIGNED, item, actor=team.admin) == []


def test_mentions_of_members_are_rows_and_other_names_stay_text(team: Team) -> None:
    comment = comment_actions.add_comment(
        team.item(), "@bench-aud. and @nobody, `@bench-core`, a@bench-core and @bench-stranger", actor=team.ann
    )
    assert [m.user for m in comment.mentions.all()] == [team.aud]


def test_authors_hear_of_a_return_with_its_reason(team: Team) -> None:
    item = team.item()
    audit.submit_item(item, item.document_hash, actor=team.ann)
    assert told(team.ann) == []
    item.refresh_from_db()
    from audit.workflow import Move

    audit.finish_review(item, Move.RETURN, item.document_hash, actor=team.core, reason="Step 3 is an action.")
    [notice] = notices.worded(Notice.objects.filter(user=team.ann))
    assert (notice.kind, notice.sentence, notice.said) == (  # type: ignore[attr-defined]
        Kind.MOVED,
        "bench-core returned #1",
        "Step 3 is an action.",
    )


def test_a_refused_action_tells_nobody(team: Team) -> None:
    from lhdr_site.shared.errors import DomainError

    with pytest.raises(DomainError):
        comment_actions.add_comment(team.item(), "@bench-ann", actor=team.aud, anchor="c99")
    assert not Notice.objects.exists() and not Mention.objects.exists()


# --- done ---------------------------------------------------------------------------------------------------------


def test_a_mention_is_done_when_answered(team: Team) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "@bench-ann2, look", actor=team.aud)
    assert notices.open_count(team.ann2) == 1
    comment_actions.add_comment(item, "Looked.", actor=team.ann2, parent=thread)
    assert notices.open_count(team.ann2) == 0
    assert thread.mentions.get().done is not None


def test_a_resolved_thread_is_done_for_all(team: Team) -> None:
    item = team.item()
    thread = comment_actions.add_comment(item, "@bench-ann2 @bench-core", actor=team.aud)
    comment_actions.resolve_comment(thread, actor=team.aud)
    assert [notices.open_count(u) for u in (team.ann, team.ann2, team.core)] == [0, 0, 0]
    assert not thread.mentions.filter(done=None).exists()


@pytest.mark.parametrize("which", ["one", "all"])
def test_done_by_the_button_sets_aside_ones_own_and_no_others(team: Team, which: str) -> None:
    item = team.item()
    for text in ("first @bench-ann2", "second"):
        comment_actions.add_comment(item, text, actor=team.aud)
    first = Notice.objects.filter(user=team.ann).order_by("pk")[0]
    reply = team.client("ann").post(
        "/inbox/done/", {"notice": "all" if which == "all" else first.pk, "back": "/b/bench/"}
    )
    assert reply["Location"] == "/b/bench/"
    assert notices.open_count(team.ann) == (0 if which == "all" else 1)
    assert notices.open_count(team.ann2) == 1


@pytest.mark.parametrize(("value", "status"), [("", 422), ("x", 422), ("9" * 30, 422), ("0", 302), ("all", 302)])
def test_done_of_odd_numbers_changes_nothing_of_others(team: Team, value: str, status: int) -> None:
    comment_actions.add_comment(team.item(), "Hm.", actor=team.aud)
    reply = team.client("ann2").post("/inbox/done/", {"notice": value, "back": "https://elsewhere.example/"})
    assert reply.status_code == status and "elsewhere" not in reply.headers.get("Location", "")
    assert notices.open_count(team.ann) == 1


def test_inbox_shows_open_ones_first_and_then_those_done(team: Team) -> None:
    item = team.item()
    comment_actions.add_comment(item, "earlier", actor=team.aud)
    comment_actions.add_comment(item, "later", actor=team.aud)
    notice_actions.finish_notices(actor=team.ann, pk=Notice.objects.get(user=team.ann, comment__body="later").pk)
    text = team.client("ann").get("/inbox/").content.decode()
    assert text.index("earlier") < text.index("later")
    assert '<span class="wb-count">1</span>' in text
    assert "Nothing is addressed to you" in team.client("core").get("/inbox/").content.decode()
    assert "earlier" not in team.client("stranger").get("/inbox/").content.decode()


def test_inbox_shows_nothing_of_a_benchmark_that_one_left(team: Team) -> None:
    comment_actions.add_comment(team.item(), "secret @bench-ann2", actor=team.aud)
    benchmark_actions.set_membership(team.benchmark, team.ann2, None, actor=team.root)
    assert "secret" not in team.client("ann2").get("/inbox/").content.decode()
    assert notices.open_count(team.ann2) == 0


def test_the_count_of_the_frame_is_one_query_however_much_there_is(team: Team) -> None:
    item = team.item()
    for n in range(5):
        comment_actions.add_comment(item, f"comment {n}", actor=team.aud)
    with CaptureQueriesContext(connection) as queries:
        assert notices.open_count(team.ann) == 5
    assert len(queries) == 1 and '"document"' not in queries[0]["sql"]
    client = team.client("ann")
    with CaptureQueriesContext(connection) as few:
        client.get("/inbox/")
    for n in range(20):
        comment_actions.add_comment(item, f"more {n}", actor=team.aud)
    with CaptureQueriesContext(connection) as many:
        client.get("/inbox/")
    assert len(many) == len(few) <= 9, [q["sql"][:90] for q in many]
    assert not [q for q in many if '"document"' in q["sql"]]


# --- mail ---------------------------------------------------------------------------------------------------------


def test_mail_gathers_what_comes_within_a_minute(team: Team, settings: Any) -> None:
    settings.SITE_URL = "https://lhdr.example.org"
    item = team.item()
    comment_actions.add_comment(item, "One **bold** <b>word</b>", actor=team.aud)
    tasks.send_mails()
    assert outbox.outbox == []  # it waits for more
    comment_actions.add_comment(item, "Two", actor=team.aud)
    [mail] = send_all()
    assert mail.to == ["bench-ann@example.org"] and mail.subject == "2 things for you: #1"
    assert mail.body.index("One **bold**") < mail.body.index("Two")
    first = Notice.objects.order_by("pk")[0]
    assert f"https://lhdr.example.org/b/bench/items/1/?panel=comments&show=all#comment-{first.comment_id}" in mail.body
    assert "https://lhdr.example.org/my-settings/" in mail.body
    html, kind = mail.alternatives[0]
    assert kind == "text/html" and "&lt;b&gt;word&lt;/b&gt;" in html
    assert "my-settings" in mail.extra_headers["List-Unsubscribe"]


def test_mail_is_sent_once_however_often_the_step_runs(team: Team) -> None:
    comment_actions.add_comment(team.item(), "Once", actor=team.aud)
    make_due()
    for _again in range(3):
        assert mail_steps.send_mail(team.ann.pk)
    assert len(outbox.outbox) == 1
    assert Notice.objects.get().mail == Notice.Mail.SENT


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("mail_mentions", Kind.MENTION),
        ("mail_comments", Kind.ANSWER),
        ("mail_comments", Kind.COMMENT),
        ("mail_suggestions", Kind.SUGGESTION),
        ("mail_suggestions", Kind.DECISION),
        ("mail_assignments", Kind.ASSIGNED),
        ("mail_returns", Kind.MOVED),
    ],
)
def test_mail_of_a_kind_that_is_switched_off_is_not_sent(team: Team, field: str, kind: str) -> None:
    item = team.item()
    notice_actions.notify([team.ann, team.ann2], kind, item, actor=team.aud)
    notice_actions.save_preferences({field: False}, actor=team.ann)
    assert [mail.to for mail in send_all()] == [["bench-ann2@example.org"]]
    assert Notice.objects.get(user=team.ann).mail == Notice.Mail.UNWANTED


def test_mail_to_who_left_or_has_no_address_is_not_sent(team: Team) -> None:
    item = team.item()
    notice_actions.notify([team.ann, team.ann2, team.core], Kind.ASSIGNED, item, actor=team.aud)
    benchmark_actions.set_membership(team.benchmark, team.ann, None, actor=team.root)
    team.ann2.email = ""
    team.ann2.save()
    team.core.is_active = False
    team.core.save()
    assert send_all() == []
    assert {n.mail for n in Notice.objects.all()} == {Notice.Mail.UNWANTED}


def test_mail_that_fails_is_tried_again_and_then_given_up(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    comment = comment_actions.add_comment(team.item(), "Hello", actor=team.aud)  # the save does not know of any mail
    assert comment.pk

    def fail(*args: Any, **kwargs: Any) -> None:
        raise smtplib.SMTPServerDisconnected("away")

    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.EmailMultiAlternatives.send", fail)
        make_due()
        assert mail_steps.send_mail(team.ann.pk) is False
        notice = Notice.objects.get()
        assert (notice.mail, notice.attempts) == (Notice.Mail.WAITING, 1)
        assert 60 < (notice.due - timezone.now()).total_seconds() <= 120
        assert mail_steps.people_to_mail(10) == []  # not before it is due
        for _attempt in range(4):
            make_due()
            mail_steps.send_mail(team.ann.pk)
        assert Notice.objects.get().mail == Notice.Mail.FAILED
    assert send_all() == []


def test_mail_that_fails_once_arrives_later(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    comment_actions.add_comment(team.item(), "Hello", actor=team.aud)
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.EmailMultiAlternatives.send", lambda self: (_ for _ in ()).throw(OSError()))
        make_due()
        tasks.send_mails()
    assert len(send_all()) == 1


class _Smtp(socketserver.StreamRequestHandler):
    """As much of a mail server as a client needs; what it was given stands on the server."""

    def handle(self) -> None:
        def say(line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        say("220 test")
        while line := self.rfile.readline():
            command = line.split(b":")[0].strip().upper()
            if command.startswith(b"DATA"):
                say("354 go on")
                lines = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(text)
                self.server.received.append(b"".join(lines))  # type: ignore[attr-defined]
                say("250 taken")
            elif command.startswith(b"RCPT TO") and self.server.refuses:  # type: ignore[attr-defined]
                say("550 no such person")
            elif command.startswith(b"QUIT"):
                say("221 bye")
                return
            else:
                say("250 fine")


@pytest.fixture
def smtp(settings: Any) -> Iterator[Any]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Smtp)
    server.daemon_threads = True
    server.received, server.refuses = [], False  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_USE_TLS = "127.0.0.1", server.server_address[1], False
    yield server
    server.shutdown()
    server.server_close()


def test_mail_over_a_real_server_arrives_with_both_parts(team: Team, smtp: Any) -> None:
    comment_actions.add_comment(team.item(), "Grüße, 你好", actor=team.aud)
    send_all()
    message = email.message_from_bytes(smtp.received[0], policy=email.policy.default)
    assert message["To"] == "bench-ann@example.org" and message["Subject"] == "[bench] bench-aud commented on #1"
    plain = message.get_body(("plain",))
    html = message.get_body(("html",))
    assert plain is not None and html is not None
    assert "Grüße, 你好" in plain.get_content() and "Grüße, 你好" in html.get_content()
    assert Notice.objects.get().mail == Notice.Mail.SENT


def test_mail_that_a_real_server_refuses_waits(team: Team, smtp: Any) -> None:
    smtp.refuses = True
    comment_actions.add_comment(team.item(), "Hello", actor=team.aud)
    send_all()
    assert smtp.received == [] and Notice.objects.get().mail == Notice.Mail.WAITING
    smtp.refuses = False
    send_all()
    assert len(smtp.received) == 1


def test_mail_without_a_server_waits_and_the_comment_is_there(team: Team, smtp: Any, settings: Any) -> None:
    smtp.shutdown()
    smtp.server_close()
    comment_actions.add_comment(team.item(), "Hello", actor=team.aud)
    make_due()
    tasks.send_mails()
    assert Notice.objects.get().mail == Notice.Mail.WAITING
    assert Item.objects.get().open_comments == 1


# --- my settings --------------------------------------------------------------------------------------------------


def test_my_settings_are_mine_and_saved(team: Team) -> None:
    client = team.client("ann")
    text = client.get("/my-settings/").content.decode()
    assert "bench-ann@example.org" in text and text.count("checked") >= 5
    assert client.post("/my-settings/", {"mail_mentions": "on"})["Location"] == "/my-settings/"
    row = Preferences.objects.get()
    assert (row.user, row.mail_mentions, row.mail_returns) == (team.ann, True, False)
    assert "/my-settings/" in team.client("stranger").get("/").content.decode()
