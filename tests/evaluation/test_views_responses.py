"""The page of one response: who sees what, blind verdicts, credit in words, failed and unreadable ones."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.urls import reverse

from evaluation.models import Response, Run, Verdict
from tests.evaluation.setting import Setting, work_through

VECTOR = [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]  # step 3 is missing; 4, 5, 6, 8, 9 and 10 rest on it, 7 does not


@pytest.fixture
def run(setting: Setting) -> Run:
    """A finished run whose first response is judged wrong at step 3, answer right."""
    run = work_through(setting.launch())
    verdict = run.verdicts.order_by("pk").first()
    assert verdict
    flags = ", ".join(map(str, VECTOR))
    output = f"Step 3 is absent.\nCHECKLIST_SCORE: 9/10\nCHECKLIST_RESULT: [{flags}]\nOVERALL_CORRECTNESS: YES"
    Verdict.objects.filter(pk=verdict.pk).update(answer_correct=True, vector=VECTOR, output=output, flags=[])
    return run


def first(run: Run) -> Response:
    return run.verdicts.order_by("pk").first().response  # type: ignore[union-attr]


def url(response: Response, name: str = "response-page") -> str:
    return reverse(f"evaluation:{name}", args=["bench", response.run.number, response.pk])


def marks(answer: str = "pass", vector: Sequence[int] = VECTOR) -> dict[str, str]:
    return {"answer": answer, **{f"step-{n}": "yes" if m else "no" for n, m in enumerate(vector, 1)}}


# --- who ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 200), ("aud", 200), ("core", 200), ("admin", 200), ("stranger", 404)]
)
def test_response_by_role_answers_members_only(run: Run, setting: Setting, who: str, expected: int) -> None:
    assert setting.team.client(who).get(url(first(run))).status_code == expected


@pytest.mark.parametrize(
    ("tab", "said"),
    [
        ("raw", "The text as it came"),
        ("request", "Nothing else is sent"),
        ("attempts", "Model asked, model that answered"),
        ("no-such-tab", "Question as sent, without image"),
    ],
)
def test_response_has_four_views(run: Run, setting: Setting, tab: str, said: str) -> None:
    assert said in setting.team.client("ann").get(url(first(run)), {"tab": tab}).content.decode()


def test_response_of_another_run_is_not_found(run: Run, setting: Setting) -> None:
    other = setting.launch()
    address = reverse("evaluation:response-page", args=["bench", other.number, first(run).pk])
    assert setting.team.client("ann").get(address).status_code == 404


@pytest.mark.parametrize("judge", ["0", "x", "-1"])
def test_response_by_a_judge_that_is_not_there_is_not_found(run: Run, setting: Setting, judge: str) -> None:
    assert setting.team.client("ann").get(url(first(run)), {"judge": judge}).status_code == 404


# --- what an annotator reads --------------------------------------------------------------------------------------


def test_response_shows_marks_credit_and_why(run: Run, setting: Setting) -> None:
    reply = setting.team.client("ann").get(url(first(run)))
    text = reply.content.decode()
    shown = reply.context["shown"]
    # stated 9 of 10; credited 1, 2 and 7: 3 of 10
    assert (shown.stated_count, shown.credited_count) == (9, 3)
    assert (shown.missing, shown.blocked) == ([3], [4, 5, 6, 8, 9, 10])
    assert "Right answer, broken chain." in text
    assert "Step 3 is missing." in text
    assert "Steps 4, 5, 6, 8, 9 and 10 are stated but rest on what is missing" in text
    assert '<a class="wb-u" href="#r3">3</a>' in text
    assert "demo: recorded answers" in text


def test_response_marks_the_two_places_that_were_read(run: Run, setting: Setting) -> None:
    text = setting.team.client("ann").get(url(first(run))).content.decode()
    assert "<mark>CHECKLIST_RESULT: [1, 1, 0, 1, 1, 1, 1, 1, 1, 1]</mark>" in text
    assert "<mark>OVERALL_CORRECTNESS: YES</mark>" in text
    assert "<mark>CHECKLIST_SCORE" not in text


def test_response_markdown_is_sanitised(run: Run, setting: Setting) -> None:
    bad = "**bold** <script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1))"
    Response.objects.filter(pk=first(run).pk).update(
        text=bad,
        citations=[
            {"url": "javascript:alert(2)", "title": "bad"},
            {"url": "https://en.wikipedia.org/wiki/Lateran_Obelisk", "title": "<b>t</b>"},
        ],
    )
    text = setting.team.client("ann").get(url(first(run))).content.decode()
    body = text.split('class="wb-prose"')[1].split("</section>")[0]
    assert "<strong>bold</strong>" in body
    assert "<script" not in body and "<img src=x" not in body and "javascript:" not in body
    assert "&lt;b&gt;t&lt;/b&gt;" in body
    assert ">s6<" in body  # a source of the item


def test_response_request_tab_shows_what_was_sent_and_nothing_hidden(run: Run, setting: Setting) -> None:
    reply = setting.team.client("ann").get(url(first(run)), {"tab": "request"})
    sent = reply.context["last"].request
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert "Lateran Obelisk" not in str(sent)


def test_response_prompt_of_the_judge_is_shown_on_request(run: Run, setting: Setting) -> None:
    text = setting.team.client("ann").get(url(first(run)), {"output": "prompt"}).content.decode()
    assert "# The checklist" in text


def test_response_leads_to_its_neighbours(run: Run, setting: Setting) -> None:
    rows = list(run.responses.order_by("release_item__position"))
    reply = setting.team.client("ann").get(url(rows[1]))
    near = reply.context["near"]
    assert (near.previous, near.following, near.place, near.total) == (rows[0].pk, rows[2].pk, 2, 3)
    assert setting.team.client("ann").get(url(rows[0])).context["near"].previous is None
    assert setting.team.client("ann").get(url(rows[2])).context["near"].following is None


def test_response_whose_verdict_is_unparseable_says_why(run: Run, setting: Setting) -> None:
    Verdict.objects.filter(response=first(run)).update(
        answer_correct=None, vector=None, unparseable="vector length 9, expected 10", output="CHECKLIST_RESULT: [1]"
    )
    text = setting.team.client("ann").get(url(first(run))).content.decode()
    assert "The verdict cannot be read:" in text
    assert "vector length 9, expected 10" in text
    assert "<mark>" not in text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"status": "failed", "error_kind": "refused", "error": "no"}, "would not answer this question"),
        ({"status": "failed", "error_kind": "timeout", "error": "600 s"}, "No usable answer came in"),
        ({"status": "failed", "error_kind": "strange", "error": "?"}, "Strange."),
        ({"status": "cancelled"}, "cancelled before this item was answered"),
        ({"status": "pending"}, "has not been asked yet"),
        ({"status": "pending", "error_kind": "timeout", "error": "late"}, "it is asked again by itself"),
        ({"status": "running"}, "is being asked right now"),
        ({"truncated": True}, "cut off at the token limit"),
    ],
)
def test_response_in_each_state_says_so_in_words(run: Run, setting: Setting, fields: dict[str, Any], said: str) -> None:
    response = first(run)
    Response.objects.filter(pk=response.pk).update(**fields)
    if fields.get("status", "completed") != "completed":
        Verdict.objects.filter(response=response).delete()
    for who in ("ann", "aud"):  # an auditor is not asked for a verdict on what has no answer
        reply = setting.team.client(who).get(url(response))
        assert said in reply.content.decode()


def test_response_whose_judge_failed_says_what_to_do(run: Run, setting: Setting) -> None:
    Verdict.objects.filter(response=first(run)).update(
        status="failed", answer_correct=None, vector=None, error_kind="auth"
    )
    text = setting.team.client("ann").get(url(first(run))).content.decode()
    assert "The judge could not be asked:" in text
    assert "Set a valid key" in text


def test_response_with_two_judges_frames_the_difference(run: Run, setting: Setting) -> None:
    Verdict.objects.create(
        run=run,
        response=first(run),
        judge=setting.new_judge(),
        status="completed",
        answer_correct=True,
        vector=[1] * 10,
    )
    reply = setting.team.client("ann").get(url(first(run)))
    comparison = reply.context["comparison"]
    assert (comparison.unanimous_answer, comparison.unanimous_steps) == (True, 9)
    assert reply.content.decode().count('class="wb-dis"') == 1


# --- one's own verdict --------------------------------------------------------------------------------------------


def test_auditor_sees_no_verdict_before_giving_one(run: Run, setting: Setting) -> None:
    reply = setting.team.client("aud").get(url(first(run)))
    text = reply.content.decode()
    assert reply.context["blind"]
    assert "1 other verdict is hidden" in text
    for hidden in ("CHECKLIST_RESULT", "Right answer", "wb-credit", "Satisfied"):
        assert hidden not in text


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 302), ("core", 302), ("admin", 302), ("stranger", 404)]
)
def test_verdict_by_role_is_for_auditors_and_above(run: Run, setting: Setting, who: str, expected: int) -> None:
    reply = setting.team.client(who).post(url(first(run), "verdict-give"), marks())
    assert reply.status_code == expected
    assert Verdict.objects.filter(judge__person__isnull=False).count() == (expected == 302)


def test_verdict_of_an_annotator_is_refused_before_its_marks_are_read(run: Run, setting: Setting) -> None:
    assert setting.team.client("ann").post(url(first(run), "verdict-give"), {}).status_code == 403


def test_verdict_given_blind_is_kept_so_and_opens_the_others(run: Run, setting: Setting) -> None:
    client = setting.team.client("aud")
    client.post(url(first(run), "verdict-give"), marks("fail", [0] * 10) | {"note": "It names <another> ferry."})
    verdict = Verdict.objects.get(judge__person=setting.team.aud)
    assert (verdict.blind, verdict.answer_correct, verdict.vector) == (True, False, [0] * 10)
    reply = client.get(url(first(run)))
    assert not reply.context["blind"]
    assert "blind, before the others were shown" in reply.content.decode()
    assert "It names &lt;another&gt; ferry." in reply.content.decode()


def test_verdict_after_a_reveal_in_another_session_is_not_blind(run: Run, setting: Setting) -> None:
    setting.team.client("aud").post(url(first(run), "verdict-reveal"), {"scope": "response"})
    client = setting.team.client("aud")
    assert not client.get(url(first(run))).context["blind"]
    client.post(url(first(run), "verdict-give"), marks())
    assert Verdict.objects.get(judge__person=setting.team.aud).blind is False


@pytest.mark.parametrize("scope", ["response", "run"])
def test_verdict_after_seeing_the_others_is_not_blind(run: Run, setting: Setting, scope: str) -> None:
    client = setting.team.client("aud")
    client.post(url(first(run), "verdict-reveal"), {"scope": scope})
    assert "Right answer, broken chain." in client.get(url(first(run))).content.decode()
    other = run.responses.exclude(pk=first(run).pk).first()
    assert other and client.get(url(other)).context["blind"] == (scope == "response")
    client.post(url(first(run), "verdict-give"), marks())
    assert Verdict.objects.get(judge__person=setting.team.aud).blind is False


@pytest.mark.parametrize(("who", "expected"), [("ann", 302), ("aud", 302), ("stranger", 404)])
def test_reveal_by_role(run: Run, setting: Setting, who: str, expected: int) -> None:
    assert setting.team.client(who).post(url(first(run), "verdict-reveal")).status_code == expected


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step-4": ""}, "Step 4 has no mark."),
        ({"step-4": "perhaps"}, "Step 4 has no mark."),
        ({"answer": ""}, "Say whether the final answer matches"),
    ],
)
def test_verdict_with_a_mark_missing_is_refused_and_nothing_marked_is_lost(
    run: Run, setting: Setting, changes: dict[str, str], said: str
) -> None:
    reply = setting.team.client("aud").post(url(first(run), "verdict-give"), marks() | changes)
    text = reply.content.decode()
    assert reply.status_code == 422
    assert said in text
    form = text.split('id="verdict-form"')[1].split("</form>")[0]
    assert form.count(" checked") == 10  # of the eleven marks, one is missing
    assert not Verdict.objects.filter(judge__person__isnull=False).exists()


def test_verdict_on_a_failed_response_is_a_conflict(run: Run, setting: Setting) -> None:
    Response.objects.filter(pk=first(run).pk).update(status="failed")
    assert setting.team.client("aud").post(url(first(run), "verdict-give"), marks()).status_code == 409


def test_response_page_takes_few_queries_whatever_its_verdicts(
    run: Run, setting: Setting, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        judge = setting.new_judge()
        Verdict.objects.create(
            run=run, response=first(run), judge=judge, status="completed", answer_correct=True, vector=[1] * 10
        )
    client = setting.team.client("ann")
    for tab in ("text", "request", "attempts"):
        with django_assert_max_num_queries(17):
            client.get(url(first(run)), {"tab": tab, "output": "prompt"})
