"""Pages and API of failure labels: who may, what is shown, what is refused."""

from typing import Any

import pytest
from django.urls import reverse

from evaluation.failure_modes import OWN_VERSION, failed_steps
from evaluation.label_actions import label_failures
from evaluation.marking_actions import reveal_verdicts
from evaluation.models import Labelling, LabelPlan, Run, Taxonomy
from lhdr_site.endpoints.demo_server import Answer
from tests.evaluation.setting import Setting, work_through

TEXT = "mine | Mine | Ours to say. | As here.\nyours | Yours | Not ours. | As there."
ROLES = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 302), ("stranger", 404)]


@pytest.fixture
def run(setting: Setting) -> Run:
    return work_through(setting.launch())


def url(name: str, run: Run, *more: Any) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.slug, run.number, *more])


def label(setting: Setting, run: Run) -> Run:
    label_failures(run, setting.judge, setting.judge, OWN_VERSION, actor=setting.team.admin)
    return work_through(run)


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_taxonomy_is_brought_by_admins_alone(setting: Setting, who: str, expected: int) -> None:
    client = setting.team.client(who)
    assert client.post("/b/bench/failure-modes/new/", {"version": "v-1", "text": TEXT}).status_code == expected
    assert Taxonomy.objects.exists() is (expected == 302)
    api = client.post(
        "/api/benchmarks/bench/failure-modes/", {"version": "v-2", "text": TEXT}, content_type="application/json"
    )
    assert api.status_code == {302: 201}.get(expected, expected)
    assert client.get("/b/bench/failure-modes/").status_code == (404 if who == "stranger" else 200)
    assert client.get("/api/benchmarks/bench/failure-modes/").status_code == (404 if who == "stranger" else 200)


def test_faulty_taxonomy_keeps_what_was_typed_and_names_the_line(setting: Setting) -> None:
    page = setting.team.client("admin").post("/b/bench/failure-modes/new/", {"version": "v-1", "text": "mine | Mine"})
    text = page.content.decode()
    assert page.status_code == 422 and "Line 1: write key" in text and "mine | Mine</textarea>" in text
    copied = setting.team.client("admin").get(f"/b/bench/failure-modes/new/?copy={OWN_VERSION}").content.decode()
    assert "wrong_entity | Wrong entity | " in copied
    assert setting.team.client("admin").get("/b/bench/failure-modes/new/?copy=no").status_code == 404


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_run_is_labelled_by_admins_alone(setting: Setting, run: Run, who: str, expected: int) -> None:
    client = setting.team.client(who)
    data = {"labeller": setting.judge.pk, "basis": setting.judge.pk, "taxonomy": OWN_VERSION}
    assert client.get(url("run-label", run)).status_code == {302: 200}.get(expected, expected)
    assert client.post(url("run-label", run), data).status_code == expected
    assert LabelPlan.objects.exists() is (expected == 302)
    names = {"labeller": setting.judge.name, "basis": setting.judge.name}
    api = client.post(f"/api{url('run-page', run).replace('/b/', '/benchmarks/')}labels/", names, "application/json")
    assert api.status_code == {302: 202}.get(expected, expected)
    shown = client.get(url("run-page", run))
    assert ("Label failures" in shown.content.decode()) is (who == "admin")


def test_run_page_shows_labellers_and_what_could_not_be_read(setting: Setting, run: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(setting.server.recordings, "find", lambda *_: Answer("No <b>labels</b> here."))
    run = label(setting, run)
    page = setting.team.client("ann").get(url("run-page", run)).content.decode()
    assert "Labels of failures" in page and url("run-unread-labels", run) in page
    for who, status in (("ann", 200), ("stranger", 404)):
        unread = setting.team.client(who).get(url("run-unread-labels", run))
        assert unread.status_code == status
        again = setting.team.client(who).post(url("unread-labels-retry", run))
        assert again.status_code == {200: 403, 404: 404}[status]
    text = setting.team.client("admin").get(url("run-unread-labels", run)).content.decode()
    assert text.count("No &lt;b&gt;labels&lt;/b&gt; here.") == 3 and "Ask all again" in text
    monkeypatch.undo()
    one = Labelling.objects.order_by("pk").first()
    assert one
    setting.team.client("admin").post(url("unread-labels-retry", run), {"labelling": one.pk})
    assert work_through(run).labellings.exclude(unparseable="").count() == 2
    setting.team.client("admin").post(url("unread-labels-retry", run), {"labelling": "x"})
    assert run.labellings.filter(status="pending").count() == 0


def test_person_labels_on_the_response_page_and_then_sees_the_others(
    setting: Setting, run: Run, django_assert_max_num_queries: Any
) -> None:
    run = label(setting, run)
    response = run.responses.order_by("pk").first()
    assert response
    verdict = response.verdicts.get()
    step = failed_steps(verdict.vector)[0]
    page, give = url("response-page", run, response.pk), url("label-give", run, response.pk) + f"?judge={verdict.pk}"
    posted = {"taxonomy": OWN_VERSION, f"step-{step}": "slip", f"note-{step}": "<i>off</i> by one", "step-0": "slip"}
    auditor = setting.team.client("aud")
    assert "Why steps failed" not in auditor.get(page).content.decode(), "marks are hidden still"
    assert auditor.post(give, posted).status_code == 403
    reveal_verdicts(run, actor=setting.team.aud)
    hidden = auditor.get(page).content.decode()
    assert "Why steps failed" in hidden and "hidden until you give yours" in hidden
    assert "drawn for the demo" not in hidden
    assert auditor.post(give, {"taxonomy": OWN_VERSION}).status_code == 422
    wrong = auditor.post(give, {**posted, f"step-{step}": "tired"})
    assert wrong.status_code == 422 and "&lt;i&gt;off&lt;/i&gt; by one" in wrong.content.decode()
    assert auditor.post(url("label-give", run, response.pk), posted).status_code == 404
    assert auditor.post(give, posted).status_code == 302
    with django_assert_max_num_queries(40):
        shown = auditor.get(page).content.decode()
    assert "drawn for the demo" in shown and "your revision 1" in shown and 'value="slip" selected' in shown
    for who, status in (("ann", 403), ("stranger", 404)):
        assert setting.team.client(who).post(give, posted).status_code == status
    reader = setting.team.client("ann").get(page).content.decode()
    assert "Why steps failed" in reader and "Keep labels" not in reader and "drawn for the demo" in reader


def test_labels_are_read_and_given_over_http(setting: Setting, run: Run) -> None:
    run = label(setting, run)
    base = f"/api/benchmarks/bench/runs/{run.number}/"
    response = run.responses.order_by("pk").first()
    assert response
    step = failed_steps(response.verdicts.get().vector)[0]
    auditor = setting.team.client("aud")
    assert auditor.get(f"{base}labels/").json()["code"] == "verdicts_hidden"
    body = {"basis": setting.judge.name, "labels": [{"step": step, "mode": "slip"}]}
    given = auditor.put(f"{base}responses/{response.pk}/labels/", body, "application/json")
    assert given.status_code == 200 and given.json()["labels"] == [{"step": step, "mode": "slip", "note": ""}]
    wrong = auditor.put(f"{base}responses/{response.pk}/labels/", {**body, "basis": "nobody"}, "application/json")
    assert wrong.status_code == 422 and "basis" in str(wrong.json())
    rows = setting.team.client("ann").get(f"{base}labels/").json()["results"]
    assert [row["is_person"] for row in rows].count(True) == 1 and len(rows) == 4
    for who, status in (("ann", 403), ("stranger", 404)):
        client = setting.team.client(who)
        assert client.put(f"{base}responses/{response.pk}/labels/", body, "application/json").status_code == status
    assert setting.team.client("stranger").get(f"{base}labels/").status_code == 404


def test_analysis_of_modes_is_a_page_a_csv_and_an_api(setting: Setting, run: Run) -> None:
    member, page = setting.team.client("ann"), reverse("evaluation:analysis", args=["bench", "modes"])
    before = member.get(page).content.decode()
    assert "No failed step is labelled yet" in before and "nan" not in before.casefold().split()
    label(setting, run)
    text = member.get(page).content.decode()
    assert "conditioned on failed steps" in text and "Knowledge override" in text and "few items" in text
    csv = member.get(reverse("evaluation:analysis-csv", args=["bench", "modes", "counts-1"])).getvalue().decode()
    assert csv.splitlines()[0].lstrip("\ufeff") == "group,mode,count,n,items,share,share_low,share_high,small"
    tex = member.get(reverse("evaluation:analysis-tex", args=["bench", "modes", "modes-1"])).content.decode()
    assert r"\toprule" in tex and "Wrong entity" in tex
    api = member.get("/api/benchmarks/bench/results/modes/").json()
    assert [table["key"] for table in api["tables"]] == ["coverage", "modes-1", "counts-1", "whole", "agreement"]
    assert setting.team.client("stranger").get(page).status_code == 404
