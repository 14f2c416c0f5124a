"""Prompts, flags, flips and outputs that could not be read: who may, what is shown, what is refused."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation.judging import count_flips
from evaluation.judging_actions import paste_prompt
from evaluation.models import Prompt, Response, Run, Verdict
from evaluation.steps import judge_facts
from lhdr_site.endpoints.demo_server import Answer
from lhdr_site.shared.errors import Invalid
from tests.documents import good_document
from tests.evaluation.setting import Setting, documents, make_setting, work_through

OURS = (
    "Q {question}\nA {reference_answer}\nC\n{checklist_lines}\n<response>\n{generated_answer}\n</response>\n"
    "CHECKLIST_SCORE: {example_score}\nCHECKLIST_RESULT: [..{n}]\nOVERALL_CORRECTNESS: YES|NO"
)
PROMPTS = "/b/bench/prompts/"


def run_url(name: str, run: Run) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.slug, run.number])


# --- prompts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]
)
def test_prompt_is_pasted_by_admins_alone(setting: Setting, who: str, expected: int) -> None:
    reply = setting.team.client(who).post(f"{PROMPTS}new/", {"version": "ours-1", "text": OURS})
    assert reply.status_code == expected
    assert Prompt.objects.exists() is (expected == 302)
    api = setting.team.client(who).post(
        "/api/benchmarks/bench/prompts/", {"version": "ours-2", "text": OURS}, content_type="application/json"
    )
    assert api.status_code == {302: 201}.get(expected, expected)


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("admin", 200), ("stranger", 404)])
def test_prompts_are_read_by_all_members(setting: Setting, who: str, expected: int) -> None:
    client = setting.team.client(who)
    for path in (
        PROMPTS,
        f"{PROMPTS}lhdr-1/",
        "/api/benchmarks/bench/prompts/",
        "/api/benchmarks/bench/prompts/lhdr-1/",
    ):
        assert client.get(path).status_code == expected
    assert setting.team.client(who).get(f"{PROMPTS}no-such/").status_code == 404


@pytest.mark.parametrize(
    ("version", "text", "path", "said"),
    [
        ("lhdr-1", OURS, "version", "taken"),
        ("new", OURS, "version", "taken"),
        ("a b", OURS, "version", "valid"),
        ("", OURS, "version", "blank"),
        ("x", "", "text", "blank"),
        ("x", OURS.replace("{question}", ""), "text", "It lacks {question}"),
        ("x", OURS.replace("CHECKLIST_RESULT", "R"), "text", "It lacks CHECKLIST_RESULT"),
        ("x", OURS + "{answer} {0} {}", "text", "Nothing is filled into {answer};"),
        ("x", OURS + "x" * 20_000, "text", "20"),
    ],
    ids=lambda value: value[-12:],
)
def test_prompt_that_cannot_be_used_is_refused(setting: Setting, version: str, text: str, path: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        paste_prompt(setting.benchmark, version, text, actor=setting.team.admin)
    assert path in [problem["path"] for problem in refused.value.details["problems"]]
    assert said in refused.value.message
    page = setting.team.client("admin").post(f"{PROMPTS}new/", {"version": version, "text": text})
    assert page.status_code == 422 and page.context["form"].errors
    assert not Prompt.objects.exists()


def test_prompt_is_kept_once(setting: Setting) -> None:
    paste_prompt(setting.benchmark, "ours-1", OURS, actor=setting.team.admin)
    with pytest.raises(Invalid):
        paste_prompt(setting.benchmark, "ours-1", OURS + "!", actor=setting.team.admin)
    copy = setting.team.client("admin").get(f"{PROMPTS}new/?copy=ours-1")
    assert copy.context["form"].initial["text"] == OURS


def test_pasted_prompt_judges_and_its_text_is_part_of_the_verdicts_identity(setting: Setting) -> None:
    paste_prompt(setting.benchmark, "ours-1", OURS, actor=setting.team.admin)
    judge = setting.new_judge(prompt_version="ours-1")
    run = work_through(setting.launch(judges=[judge]))
    sent = [r["body"] for r in setting.server.requests or [] if r["body"]["model"] == "demo-judge"]
    content = sent[0]["messages"][0]["content"]
    assert str(content if isinstance(content, str) else content[0]["text"]).startswith("Q The picture")
    assert run.verdicts.filter(unparseable="", status="completed").count() == 3
    assert judge_facts(judge)["prompt"] == OURS
    assert "prompt" not in judge_facts(setting.judge)
    assert setting.team.client("ann").get(f"{PROMPTS}ours-1/").context["prompt"].judges == 1


def test_prompt_is_shown_filled_in_for_the_chosen_case(setting: Setting) -> None:
    client = setting.team.client("ann")
    assert client.get(f"{PROMPTS}lhdr-1/").context["filled"] == ""
    run = work_through(setting.launch())
    response = run.responses.select_related("release_item__item").order_by("-release_item__position")[0]
    number = response.release_item.item.number
    shown = client.get(f"{PROMPTS}lhdr-quote-1/", {"run": run.number, "item": number})
    assert response.release_item.document["question"] in shown.context["filled"]
    assert "QUOTE 3:" in shown.context["filled"]
    api = client.get("/api/benchmarks/bench/prompts/lhdr-quote-1/", {"run": run.number, "item": number}).json()
    assert api["preview"] == shown.context["filled"] and api["demands_quotes"]
    assert "no completed response" in client.get(f"{PROMPTS}lhdr-1/", {"item": 999}).content.decode()
    assert client.get("/api/benchmarks/bench/prompts/lhdr-1/", {"run": 1, "item": 999}).status_code == 404
    assert client.get("/api/benchmarks/bench/prompts/lhdr-1/", {"run": "x"}).status_code == 422


# --- flags --------------------------------------------------------------------------------------------------------


def test_judge_that_must_quote_is_checked_and_the_steps_are_kept(setting: Setting) -> None:
    """The demo judge quotes what a response states word for word, and nothing of what it makes up."""
    judge = setting.new_judge(prompt_version="lhdr-quote-1")
    run = setting.launch(judges=[judge])
    first = run.responses.order_by("release_item__position")[0]
    said = good_document().checklist[1].conclusion
    setting.server.recordings.systems["demo-system", "x", "without_image"] = Answer(text=f"{said}\nFinal answer: 1588")
    setting.server.recordings.questions["x"] = first.release_item.document["question"]
    try:
        work_through(run)
    finally:
        setting.server.recordings.systems.clear()
        setting.server.recordings.questions.clear()
    quoted = run.verdicts.get(response=first)
    assert quoted.vector == [0, 1] + [0] * 8
    assert "quote_not_found" not in quoted.flags
    for verdict in run.verdicts.exclude(response=first):
        credited = [n for n, mark in enumerate(verdict.vector, 1) if mark]
        assert verdict.flagged_steps.get("quote_not_found", []) == credited
        assert ("quote_not_found" in verdict.flags) is bool(credited)


def test_response_that_cites_the_data_set_is_flagged_when_it_is_kept(demo_server: Any, db: Any) -> None:
    setting = make_setting(demo_server, documents(1, "apart"), "apart")
    setting.benchmark.dataset_urls = "https://data.example/winter"
    setting.benchmark.save()
    run = setting.launch()
    text = f"See https://data.example/winter/a and {setting.benchmark.canary}."
    demo_server.recordings.questions["x"] = run.responses.get().release_item.document["question"]
    demo_server.recordings.systems["demo-system", "x", "without_image"] = Answer(text=text)
    try:
        work_through(run)
    finally:
        demo_server.recordings.systems.clear()
        demo_server.recordings.questions.clear()
    response = run.responses.get()
    assert response.flags == ["canary", "dataset_host"]
    page = setting.team.client("ann").get(run_url("run-page", run))
    assert page.context["progress"].flagged["canary"] == {response.pk}
    shown = setting.team.client("ann").get(reverse("evaluation:response-page", args=["apart", run.number, response.pk]))
    assert "holds the benchmark&#x27;s canary" in shown.content.decode()


def test_flags_are_counted_and_filter_the_responses(setting: Setting) -> None:
    run = work_through(setting.launch())
    first, second, _third = run.responses.order_by("pk")
    run.verdicts.update(flags=[], flagged_steps={})
    Verdict.objects.filter(response=first).update(
        flags=["several", "quote_not_found"], flagged_steps={"quote_not_found": [2, 5]}, vector=[1] * 10
    )
    Response.objects.filter(pk__in=[first.pk, second.pk]).update(flags=["key_text"])
    client = setting.team.client("ann")
    progress = client.get(run_url("run-page", run)).context["progress"]
    assert {flag: len(pks) for flag, pks in progress.flagged.items()} == {
        "key_text": 2, "quote_not_found": 1, "several": 1,
    }  # fmt: skip
    for show, expected in (("flag-key_text", {first.pk, second.pk}), ("flag-several", {first.pk}), ("flag-x", set())):
        cells = client.get(run_url("run-page", run), {"show": show}).context["cells"]
        assert {cell.pk for cell in cells} == expected
    text = client.get(reverse("evaluation:response-page", args=["bench", run.number, first.pk])).content.decode()
    assert "Quote not found: steps 2 and 5." in " ".join(text.split())
    assert "Hidden text." in text


# --- flips --------------------------------------------------------------------------------------------------------


def test_count_flips_counts_what_differs_of_what_was_judged_several_times() -> None:
    rows = [
        (1, 10, True, [1, 0]), (1, 10, True, [1, 0]), (1, 11, True, [1, 0]), (1, 11, True, [1, 1]),
        (1, 12, True, [1]), (1, 12, False, [1]), (1, 13, True, [1]), (2, 10, True, [1]),
    ]  # fmt: skip
    found = count_flips(rows)
    assert set(found) == {1}
    assert (found[1].repeated, found[1].responses, found[1].answers, found[1].rate) == (3, {11, 12}, 1, 2 / 3)


def test_flips_are_shown_by_judge_listed_and_marked_on_the_response(setting: Setting) -> None:
    run = work_through(setting.launch(repeats=2))
    first = run.responses.order_by("pk")[0]
    Verdict.objects.filter(run=run).update(vector=[1] * 10, answer_correct=True, unparseable="")
    Verdict.objects.filter(response=first, repeat=2).update(answer_correct=False)
    client = setting.team.client("ann")
    page = client.get(run_url("run-page", run), {"show": f"flips-{setting.judge.pk}"})
    assert [cell.pk for cell in page.context["cells"]] == [first.pk]
    assert "1 of 3" in page.content.decode() and "33%" in page.content.decode()
    text = client.get(reverse("evaluation:response-page", args=["bench", run.number, first.pk])).content.decode()
    assert f"The verdicts of {setting.judge.name} on this response differ" in text


# --- unparseable --------------------------------------------------------------------------------------------------


@pytest.fixture
def unread(setting: Setting) -> Run:
    run = work_through(setting.launch())
    run.verdicts.filter(pk__in=[v.pk for v in run.verdicts.all()[:2]]).update(
        answer_correct=None, vector=None, unparseable="vector missing", output="I <cannot> say."
    )
    return run


@pytest.mark.parametrize(("who", "expected"), [("ann", 200), ("admin", 200), ("stranger", 404)])
def test_unparseable_outputs_are_listed_raw(unread: Run, setting: Setting, who: str, expected: int) -> None:
    reply = setting.team.client(who).get(run_url("run-unparseable", unread))
    assert reply.status_code == expected
    if expected == 200:
        assert reply.content.decode().count("I &lt;cannot&gt; say.") == 2


@pytest.mark.parametrize(
    ("who", "expected"), [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]
)
def test_unparseable_verdicts_are_asked_for_again_by_admins(
    unread: Run, setting: Setting, who: str, expected: int
) -> None:
    one = unread.verdicts.exclude(unparseable="").first()
    assert one
    client, address = setting.team.client(who), run_url("unparseable-retry", unread)
    assert client.post(address, {"verdict": one.pk}).status_code == expected
    assert unread.verdicts.filter(status="pending").count() == (expected == 302)
    if expected == 302:
        client.post(address)
        assert unread.verdicts.filter(status="pending").count() == 2
        work_through(unread)
        assert not unread.verdicts.exclude(unparseable="").exists()


def test_unparseable_list_takes_few_queries(unread: Run, setting: Setting, django_assert_max_num_queries: Any) -> None:
    client = setting.team.client("ann")
    with django_assert_max_num_queries(10):
        client.get(run_url("run-unparseable", unread))


def test_unparseable_list_has_pages(unread: Run, setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.views.unparseable.OUTPUTS_A_PAGE", 1)
    client, address = setting.team.client("ann"), run_url("run-unparseable", unread)
    first, second = (client.get(address, query).content.decode() for query in ({}, {"page": 2}))
    assert 'href="?page=2" rel="next"' in first and 'rel="prev"' not in first
    assert 'href="?page=1" rel="prev"' in second
