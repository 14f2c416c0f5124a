"""Pages of blind second audits: nothing of the first audit is on them; lists, drawing, deciding, figures, per role."""

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.comment_actions import add_comment
from annotation.models import Item
from annotation.states import State
from audit import second_actions as second
from audit.candidate_actions import add_candidate
from audit.models import BlindAudit, BlindResult
from audit.second_queries import required_of
from audit.workflow import Move
from tests.factories import Team

from .judging import answer, bring_to, finish, fresh, submit, tick
from .test_errata import locked_item
from .test_second import audit_blind

HTMX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}


def url(name: str, *args: Any) -> str:
    return reverse(f"audit:{name}", args=["bench", *args])


@pytest.fixture
def taken(team: Team) -> BlindAudit:
    """A blind audit of a locked item that `aud` has taken."""
    [audit] = second.ask_double_audits(team.benchmark, [locked_item(team).number], actor=team.core)
    return second.take_blind_audit(audit, actor=team.aud)


# --- blindness ----------------------------------------------------------------------------------------------------


def test_second_auditor_sees_nothing_that_the_first_audit_said(team: Team) -> None:
    item = bring_to(team, team.item(), State.SECONDARY_AUDIT)
    answer(item, team.aud, "path", passed=False, comment="FIRST-FAIL names the bridge")
    tick(item, team.aud, "c1", supported=False)
    finish(item, team.aud, Move.RETURN, "FIRST-REASON mend it")
    submit(item)
    answer(item, team.aud, "chain", comment="FIRST-PASS good chain")
    add_candidate(fresh(item), "FIRST-RIVAL 1590", "FIRST-WHY it opened then", actor=team.aud)
    add_comment(fresh(item), "FIRST-COMMENT I doubt it", actor=team.aud, anchor="c1")
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    second.take_blind_audit(audit, actor=team.admin)
    client = team.client("admin")
    text = client.get(url("second-audit", audit.pk)).content.decode()
    assert text.count('name="rating"') == 13 * 5 and "What a system sees" in text and "Source support" in text
    for hidden in ("FIRST-", "bench-aud", "bench-core", "History of moves", "ticked", 'id="audit-gates"', "wb-gates"):
        assert hidden not in text, hidden
    assert "passed</span>" not in text and "failed</span>" not in text
    # nor by the way of the first audit's page and API
    assert client.get(url("panel", item.number)).url == url("second-audit", audit.pk)
    assert client.get(url("panel", item.number), **HTMX).status_code == 403
    api = f"/api/benchmarks/bench/items/{item.number}/"
    for what in ("criteria", "ticks", "moves", "points"):
        reply = client.get(f"{api}{what}/")
        assert reply.status_code == 403 and "FIRST-" not in reply.content.decode()
    # and they do not judge it in the first audit meanwhile
    answered = client.post(
        f"{api}criteria/",
        {"criterion": "chain", "rating": 4, "passed": True, "hash": item.document_hash},
        content_type="application/json",
    )
    assert answered.status_code == 403
    # the first audit goes on and shows nothing of the second
    second.record_blind_result(audit, "chain", rating=2, passed=False, comment="SECOND-FAIL", actor=team.admin)
    assert "SECOND-FAIL" not in team.client("aud").get(url("panel", item.number)).content.decode()
    answer(item, team.aud, "minimal")
    assert fresh(item).gates["irreducibility"]["status"] == "passed"


@pytest.mark.parametrize(("who", "status"), [("ann", 403), ("core", 403), ("admin", 403), ("stranger", 404)])
def test_blind_page_is_for_its_auditor_alone(team: Team, taken: BlindAudit, who: str, status: int) -> None:
    client = team.client(who)
    assert client.get(url("second-audit", taken.pk)).status_code == status
    for name in ("second-finish", "second-give-back"):
        assert client.post(url(name, taken.pk)).status_code in (status, 409)
    assert client.post(url("second-record", taken.pk, "chain"), {"verdict": "pass"}).status_code == status
    assert not BlindResult.objects.exists() and BlindAudit.objects.get().auditor == team.aud


# --- working ------------------------------------------------------------------------------------------------------


def test_answers_are_posted_plainly_or_in_place_and_keep_what_was_typed(team: Team, taken: BlindAudit) -> None:
    client, address = team.client("aud"), url("second-record", taken.pk, "chain")
    bad = client.post(address, {"rating": "2", "verdict": "pass", "comment": "typed and kept"})
    assert bad.status_code == 422 and b"typed and kept" in bad.content and b"A pass needs a rating" in bad.content
    part = client.post(address, {"rating": "4", "verdict": "pass"}, **HTMX).content.decode()
    assert "<!DOCTYPE" not in part and "data-saved" in part and "1 of 13 answered" in part
    assert client.post(address, {"rating": "2", "verdict": "fail", "comment": "No"}).url.endswith("#k-chain")
    early = client.post(url("second-finish", taken.pk))
    assert early.status_code == 422 and b"Still open" in early.content
    for code in required_of(team.benchmark):
        client.post(url("second-record", taken.pk, code), {"rating": "4", "verdict": "pass"})
    assert client.post(url("second-finish", taken.pk)).url == url("second-list")
    text = client.get(url("second-audit", taken.pk)).content.decode()
    assert 'name="rating"' not in text and "Its answers stay" in text
    assert client.post(url("second-record", taken.pk, "nonsense"), {"verdict": "pass"}).status_code == 404


def test_list_offers_what_one_may_take_and_takes_it(team: Team) -> None:
    item = locked_item(team)
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    assert team.client("ann").get(url("second-list")).status_code == 403
    assert team.client("stranger").get(url("second-list")).status_code == 404
    assert "Audit it" not in team.client("admin").get(url("second-list")).content.decode()  # admin locked it
    client = team.client("aud")
    assert "Audit it" in client.get(url("second-list")).content.decode()
    assert client.post(url("second-take", audit.pk)).url == url("second-audit", audit.pk)
    assert "0 of 13 answered" in client.get(url("second-list")).content.decode()
    assert team.client("core").post(url("second-take", audit.pk)).status_code == 409
    client.post(url("second-give-back", audit.pk))
    assert BlindAudit.objects.get().auditor is None


def test_core_draws_by_form_and_reads_what_is_wrong(team: Team) -> None:
    item = locked_item(team)
    client = team.client("core")
    bad = client.post(url("second-draw"), {"what": "double", "numbers": f"{item.number}, 99"})
    assert bad.status_code == 422 and b"no item #99" in bad.content and f"{item.number}, 99".encode() in bad.content
    for form in ({"numbers": "abc"}, {"numbers": "9" * 40}, {"what": "residual", "size": "5"}, {"what": "residual"}):
        assert client.post(url("second-draw"), form).status_code == 422
    assert client.post(url("second-draw"), {"numbers": f"#{item.number}"}).status_code == 302
    assert client.post(url("second-draw"), {"what": "residual", "size": "1", "seed": "5"}).status_code == 302
    assert client.post(url("second-draw"), {"what": "residual", "size": "1", "seed": "5"}).status_code == 409
    assert BlindAudit.objects.count() == 2
    for who in ("ann", "aud"):
        assert team.client(who).post(url("second-draw"), {"numbers": "1"}).status_code == 403


# --- figures ------------------------------------------------------------------------------------------------------


def test_agreement_page_csv_and_deciding_disagreements(team: Team) -> None:
    item: Item = bring_to(team, team.item(), State.LOCKED)
    client = team.client("core")
    assert "Nothing measured yet" in client.get(url("agreement")).content.decode()
    [audit] = second.ask_double_audits(team.benchmark, [item.number], actor=team.core)
    audit_blind(audit, team.admin, "unique")
    [residual] = second.draw_residual_sample(team.benchmark, 1, seed=1, actor=team.core)
    audit_blind(residual, team.root, "metadata")
    text = client.get(url("agreement")).content.decode()
    assert "100.0%" in text and "1 of 1 verified failed" in text and "2 to decide" in text and "undefined" in text
    # core answered metadata first, so a third person decides there
    assert url("adjudicate", audit.pk, "unique") in text and url("adjudicate", residual.pk, "metadata") not in text
    for who in ("ann", "aud"):
        text = team.client(who).get(url("agreement")).content.decode()
        assert "Cohen" in text and "Disagreements" not in text
        posted = {"rating": "4", "verdict": "pass"}
        assert team.client(who).post(url("adjudicate", audit.pk, "unique"), posted).status_code == 403
    assert team.client("stranger").get(url("agreement")).status_code == 404
    assert client.post(url("adjudicate", audit.pk, "unique"), {"rating": "4"}).status_code == 422
    wrong = {"rating": "2", "verdict": "pass", "comment": "KEPT </textarea> words"}
    refused = client.post(url("adjudicate", audit.pk, "unique"), wrong)
    again = refused.content.decode()
    assert refused.status_code == 422 and "KEPT &lt;/textarea&gt; words</textarea>" in again
    assert again.count("KEPT") == 1 and 'value="2" checked' in again and 'value="pass" checked' in again
    assert client.post(url("adjudicate", audit.pk, "unique"), {"rating": "4", "verdict": "pass"}).status_code == 302
    late = client.post(url("adjudicate", audit.pk, "unique"), wrong | {"rating": "4"})
    assert late.status_code == 409 and "KEPT &lt;/textarea&gt; words</p>" in late.content.decode()
    assert client.post(url("adjudicate", audit.pk, "unique"), {"rating": "4", "verdict": "pass"}).status_code == 409
    assert "decided: passes" in client.get(url("agreement")).content.decode()
    lines = list(csv.DictReader(io.StringIO(team.client("ann").get(url("agreement-csv")).getvalue().decode())))
    assert lines[0]["criterion"] == "all" and lines[0]["n"] == "13" and lines[0]["disagreements"] == "1"
    assert [line["kappa"] for line in lines if line["criterion"] == "chain"] == [""]
    with CaptureQueriesContext(connection) as caught:
        client.get(url("agreement"))
    assert len(caught) <= 32
