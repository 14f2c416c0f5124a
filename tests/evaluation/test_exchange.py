"""Responses and verdicts from files and to files: by page, command and API, each by role, and there and back."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.interchange import export_order
from evaluation import actions, marking_actions, steps
from evaluation.exports import response_rows, verdict_rows
from evaluation.importing import import_responses, import_verdicts, read_response_file, read_verdict_file
from evaluation.models import Judge, Run, RunState, System, Verdict
from evaluation.reports import leaderboard
from evaluation.scoring.files import score_files
from lhdr_site.shared.errors import Conflict, Invalid, NotAllowed
from tests.evaluation.setting import work_through

ROLES = [("ann", 403), ("aud", 403), ("core", 403), ("admin", 200), ("stranger", 404)]
NEW = {"name": "elsewhere", "group": "deep_research", "family": "other"}
API = "/api/benchmarks/bench/runs/"


def data(rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def uids(setting):
    return list(setting.release.release_items.order_by("position").values_list("uid", flat=True))


def answers(setting, **more):
    return [{"id": uid, "text": f"It is 337. ({n})", "model": "m", **more} for n, uid in enumerate(uids(setting))]


def incoming(setting, rows=None, **options):
    return read_response_file(setting.release, io.BytesIO(data(answers(setting) if rows is None else rows)), **options)


def imported(setting, rows=None, system=NEW, **options):
    return import_responses(incoming(setting, rows), system, actor=setting.team.admin, **options)[0]


# --- the action ---------------------------------------------------------------------------------------------------


def test_import_makes_a_finished_run_that_nobody_works_on(setting):
    run = imported(setting, judge=setting.judge, file_name="a.jsonl", note="From afar.")
    assert (run.state, run.is_trial, run.spent, run.condition) == (RunState.FINISHED, False, 0, "with_image")
    assert (run.system.endpoint, run.system.is_demo, run.system.model, run.note) == (None, False, "m", "From afar.")
    assert [(r.status, r.returned_model, r.endpoint, r.tries) for r in run.responses.all()] == [
        ("completed", "m", None, 0)
    ] * 3
    assert not steps.answer(run.responses.first().pk) and steps.sweep() == {} and not steps.finish(run.pk)
    assert [e.kind for e in run.events.all()] == ["run.imported"]


def test_imported_answers_are_looked_at_for_contamination(setting):
    rows = answers(setting)
    rows[0]["text"] += f" {setting.benchmark.canary}"
    run = imported(setting, rows, judge=setting.judge)
    assert [bool(r.flags) for r in run.responses.order_by("release_item__position")] == [True, False, False]


def test_import_of_the_same_rows_again_changes_nothing_and_says_so(setting):
    first = imported(setting, judge=setting.judge)
    again, new = import_responses(incoming(setting, answers(setting)[::-1]), NEW, actor=setting.team.admin)
    assert (again, new, Run.objects.count(), System.objects.filter(name="elsewhere").count()) == (first, False, 1, 1)
    rows = answers(setting)
    rows[0]["text"] = "Another."
    assert imported(setting, rows, judge=setting.judge) != first


def test_imported_answers_are_judged_here_and_stand_on_the_leaderboard(setting):
    run = imported(setting, judge=setting.judge)
    assert actions.rejudge(run, setting.judge, actor=setting.team.admin) == 3
    run = work_through(run)
    assert run.state == RunState.FINISHED and len(setting.server.requests) == 3
    assert {request["body"]["model"] for request in setting.server.requests} == {"demo-judge"}
    [row] = leaderboard(setting.release)["runs"]
    assert (row["system"], row["counts"]["completed"], row["demo"]) == ("elsewhere", 3, False)


def test_import_refuses_rows_one_by_one_and_names_what_is_lacking(setting):
    rows = answers(setting)
    document = setting.release.release_items.get(uid=rows[0]["id"]).document
    rows[0]["question"] = "  " + document["question"].replace(" ", " \n ")
    rows[0]["condition"], rows[1]["question"] = "with_image", "Another question?"
    rows += [{"id": "nowhere", "text": "x"}, {**rows[0], "condition": "without_image"}, {**rows[0], "model": "other"}]
    found = incoming(setting, rows)
    assert [row.row for row, _item in found.matched] == [1, 3] and found.lacking == 1
    assert [problem.split(":")[0] for problem in found.problems] == [
        "row 5, condition", "row 6, model", "row 2, question", "row 4, id"
    ]  # fmt: skip
    run, new = import_responses(found, NEW, actor=setting.team.admin, judge=setting.judge)
    assert new and run.is_trial and run.item_count == 3 and run.responses.count() == 2


def test_import_takes_what_failed_under_the_name_that_was_asked_for(setting):
    """An export names the model that answered, and where none did the one that was asked: it must come back whole."""
    rows = answers(setting, model="vendor/m-2026-01-01")
    rows[0] |= {"text": "", "error": "refused", "model": "vendor/m"}
    found = incoming(setting, rows)
    assert (len(found.matched), found.failed, found.problems) == (3, 1, [])
    assert found.model == "vendor/m-2026-01-01"


def test_import_takes_epochs_as_samples_and_failures_as_failed(setting):
    rows = answers(setting) + answers(setting, sample=2, text="", error="timed out", error_kind="timeout")
    run = imported(setting, rows, judge=setting.judge)
    assert (run.samples, run.responses.filter(sample=2, status="failed", error_kind="timeout").count()) == (2, 3)
    with pytest.raises(Conflict, match="file"):
        actions.retry_failed(run, actor=setting.team.admin)
    assert run.responses.filter(status="failed").count() == 3


@pytest.mark.parametrize("who", ["ann", "aud", "core", "stranger"])
def test_import_is_for_admins(setting, who):
    run = imported(setting, judge=setting.judge)
    row = {"id": uids(setting)[0], "judge": "j", "answer_correct": True, "vector": [1] * 10}
    person = getattr(setting.team, who)
    with pytest.raises(NotAllowed):
        import_responses(incoming(setting), {**NEW, "name": "x"}, actor=person, judge=setting.judge)
    with pytest.raises(NotAllowed):
        import_verdicts(read_verdict_file(run, io.BytesIO(data([row]))), actor=person)
    assert (Run.objects.count(), Verdict.objects.count(), System.objects.count()) == (1, 0, 2)


@pytest.mark.parametrize(
    ("system", "judge", "path"),
    [
        ({**NEW, "group": "other"}, {}, "group"), ({**NEW, "family": ""}, {}, "family"),
        ({**NEW, "name": ""}, {}, "name"), (NEW, {"judge_elsewhere": "taken"}, "judge"),
    ],
)  # fmt: skip
def test_import_with_bad_data_is_refused_naming_the_field(setting, system, judge, path):
    setting.new_judge(name="taken")
    with pytest.raises(Invalid) as error:
        imported(setting, system=system, **(judge or {"judge": setting.judge}))
    assert [p["path"] for p in error.value.details["problems"]] == [path]
    assert not Run.objects.exists() and not System.objects.filter(name="elsewhere").exists()


def test_system_without_an_endpoint_cannot_be_asked(setting):
    run = imported(setting, judge=setting.judge)
    with pytest.raises(Invalid, match="files"):
        setting.launch(system=run.system)
    client = setting.team.client("admin")
    for page in ("system-list", "judge-list", "run-list", "leaderboard", "run-launch"):
        assert client.get(reverse(f"evaluation:{page}", args=["bench"])).status_code == 200
    response = run.responses.first()
    assert client.get(reverse("evaluation:run-page", args=["bench", run.number])).status_code == 200
    for tab in ("text", "raw", "request", "attempts"):
        address = reverse("evaluation:response-page", args=["bench", run.number, response.pk])
        assert client.get(address, {"tab": tab}).status_code == 200
    assert client.get("/api/benchmarks/bench/systems/").json()[0]["endpoint"] is None


# --- verdicts -----------------------------------------------------------------------------------------------------


def test_verdicts_of_a_judge_elsewhere_come_in_once_and_are_never_overwritten(setting):
    run = imported(setting, judge_elsewhere="their judge")
    rows = [
        {"id": uid, "judge": "their judge", "answer_correct": True, "vector": [1] * 9 + [n % 2], "output": "…"}
        for n, uid in enumerate(uids(setting))
    ]
    found = read_verdict_file(run, io.BytesIO(data(rows)))
    assert import_verdicts(found, actor=setting.team.admin) == 3
    assert {(v.judge.endpoint, v.judge.person, v.status) for v in run.verdicts.all()} == {(None, None, "completed")}
    again = read_verdict_file(run, io.BytesIO(data(rows)))
    assert (again.rows, again.known, import_verdicts(again, actor=setting.team.admin)) == ([], 3, 0)
    changed = read_verdict_file(run, io.BytesIO(data([{**rows[0], "answer_correct": False}])))
    assert "none is overwritten" in changed.problems[0]
    report = leaderboard(setting.release)
    assert report["judge"]["name"] == "their judge" and report["runs"][0]["OA"] == 1.0
    assert actions.rejudge(run, setting.judge, actor=setting.team.admin) == 3
    with pytest.raises(Invalid, match="come from files"):
        actions.rejudge(run, Judge.objects.get(name="their judge"), actor=setting.team.admin)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"vector": [1] * 9}, "9 marks"), ({"vector": [1] * 11}, "11 marks"), ({"vector": [2] * 10}, "vector"),
        ({"judge": ""}, "judge"), ({"sample": 2}, "sample 2"), ({"id": "nowhere"}, "no item"),
    ],
)  # fmt: skip
def test_verdict_that_cannot_be_taken_is_refused_by_row(setting, change, says):
    run = imported(setting, judge=setting.judge)
    row = {"id": uids(setting)[0], "judge": "j", "answer_correct": True, "vector": [1] * 10, **change}
    found = read_verdict_file(run, io.BytesIO(data([row])))
    assert found.rows == [] and says in found.problems[0]
    with pytest.raises(Invalid):
        import_verdicts(found, actor=setting.team.admin)


def test_verdicts_named_after_a_judge_of_the_workbench_are_marked_as_imported(setting):
    run = work_through(setting.launch())
    rows = list(verdict_rows(run))
    found = read_verdict_file(run, io.BytesIO(data(rows)))
    assert found.judges == [f"{setting.judge.name} (imported)"]
    import_verdicts(found, actor=setting.team.admin)
    assert run.verdicts.count() == 6


# --- there and back -----------------------------------------------------------------------------------------------


def test_export_that_is_imported_gives_the_same_rows(setting):
    setting.system = setting.misbehaving("citations")
    run = work_through(setting.launch(samples=2, repeats=2))
    failed = run.responses.filter(sample=2).first()
    failed.verdicts.all().delete()
    failed.status, failed.text, failed.error, failed.error_kind = "failed", "", "timed out", "timeout"
    failed.save()
    responses, verdicts = list(response_rows(run)), list(verdict_rows(run))
    assert len(responses) == 6 and len(verdicts) == 10 and responses[0]["citations"]
    copy = imported(setting, responses, judge=setting.judge)
    import_verdicts(read_verdict_file(copy, io.BytesIO(data(verdicts)), judge="copy"), actor=setting.team.admin)
    assert list(response_rows(copy)) == responses
    assert [{**row, "judge": setting.judge.name} for row in verdict_rows(copy)] == verdicts


def test_export_for_the_papers_evaluator_is_scored_as_the_run_is_and_comes_back(setting, tmp_path):
    run = work_through(setting.launch())
    release = tmp_path / "release.jsonl"
    release.write_bytes(data(row.document for row in setting.release.release_items.order_by("position")))
    (tmp_path / "r.jsonl").write_bytes(data(response_rows(run, "mr-lhdr")))
    rows = list(verdict_rows(run, "mr-lhdr"))
    (tmp_path / "v.jsonl").write_bytes(data(rows))
    for item in setting.release.release_items.all():
        assert export_order(item.document) == list(range(10))  # so that the order is that of the export as well
    scored = score_files(release, tmp_path / "v.jsonl", tmp_path / "r.jsonl", bootstrap=0)
    [board] = leaderboard(setting.release)["runs"]
    assert [scored[name] for name in ("OA", "SA", "CS", "DACS")] == pytest.approx(
        [board[name] for name in ("OA", "SA", "CS", "DACS")]
    )
    copy = import_responses(
        read_response_file(setting.release, tmp_path / "r.jsonl"), NEW, actor=setting.team.admin, judge=setting.judge
    )[0]
    import_verdicts(read_verdict_file(copy, tmp_path / "v.jsonl", judge="copy"), actor=setting.team.admin)
    assert [{**row, "judge_id": "copy"} for row in rows] == list(
        verdict_rows(copy, "mr-lhdr", Judge.objects.get(name="copy"))
    )


# --- pages --------------------------------------------------------------------------------------------------------


def upload(rows, name="a.jsonl"):
    return SimpleUploadedFile(name, rows if isinstance(rows, bytes) else data(rows))


def post(setting, rows, who="admin", **more):
    form = {
        "file": upload(rows),
        "format": "auto",
        "release": setting.release.pk,
        "judge": setting.judge.pk,
        **NEW,
        **more,
    }
    return setting.team.client(who).post(reverse("evaluation:response-import", args=["bench"]), form)


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_import_pages_by_role(setting, who, expected):
    run = imported(setting, judge=setting.judge)
    client = setting.team.client(who)
    assert client.get(reverse("evaluation:response-import", args=["bench"])).status_code == expected
    assert client.get(reverse("evaluation:verdict-import", args=["bench", run.number])).status_code == expected
    for name in ("run-responses-file", "run-verdicts-file"):
        status = client.get(reverse(f"evaluation:{name}", args=["bench", run.number])).status_code
        assert status == (403 if (name, who) == ("run-verdicts-file", "admin") else expected)
    assert post(setting, answers(setting, text="new"), who, action="import").status_code == {200: 302}.get(
        expected, expected
    )


def test_import_page_shows_first_what_would_come_in_and_then_imports(setting):
    rows = [*answers(setting), {"id": "nowhere"}]
    text = post(setting, rows).content.decode()
    assert "3 answers, read as lhdr" in text and "1 row is refused" in text and "no item of the release" in text
    assert not Run.objects.exists()
    reply = post(setting, rows, action="import")
    run = Run.objects.get()
    assert reply.url == reverse("evaluation:run-page", args=["bench", run.number])
    reply = post(setting, rows, action="import")
    assert (reply.status_code, Run.objects.count()) == (302, 1)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01", b"PK\x03\x04xx", b'{"version": 2, "samples": {}}', b'{"id": 1}', b"[[[", "é".encode("utf-16")],
)
@pytest.mark.parametrize("action", ["check", "import"])
@pytest.mark.parametrize("format", ["auto", "lhdr", "mr-lhdr", "mm-browsecomp", "inspect"])
def test_import_page_with_a_bad_file_says_so(setting, content, action, format):
    reply = post(setting, content, action=action, format=format)
    assert reply.status_code in (200, 422) and not Run.objects.exists()


def test_broken_archive_of_a_log_is_named_as_what_its_name_promises(setting):
    file = upload(b"\xde\xad\xbe\xef" * 9, "run.eval")
    page = post(setting, b"", file=file).content.decode()
    assert "the file is no ZIP archive, as a .eval log of Inspect is" in page and "UTF-8" not in page
    file.seek(0)
    form = {"file": file, "release": "r1", "judge": setting.judge.name, "system": "New", **NEW}
    reply = setting.team.client("admin").post(f"{API}import/", {name: form[name] for name in form if name != "name"})
    assert reply.status_code == 422 and "no ZIP archive" in reply.content.decode()


def test_import_page_says_what_is_wrong_with_the_file_beside_what_is_missing(setting):
    for action in ("check", "import"):
        reply = post(setting, [*answers(setting), {"id": "nowhere"}], action=action, name="", family="", judge="")
        page = reply.content.decode()
        assert reply.status_code == 422 and set(reply.context["form"].errors) == {"name", "family", "judge"}
        assert "3 answers, read as lhdr" in page and "no item of the release" in page
        assert "Import these rows" not in page and not Run.objects.exists()


@pytest.mark.parametrize("missing", ["release", "name", "group", "family", "judge", "file"])
def test_import_page_names_what_is_missing(setting, missing):
    reply = post(setting, answers(setting), **{missing: ""})
    assert reply.status_code == 422 and missing in reply.context["form"].errors


def test_verdict_page_checks_and_imports(setting):
    run = imported(setting, judge=setting.judge)
    rows = [{"id": uid, "answer_correct": False, "vector": [0] * 10} for uid in uids(setting)]
    client, address = setting.team.client("admin"), reverse("evaluation:verdict-import", args=["bench", run.number])
    form = {"format": "auto", "judge": "theirs"}
    assert "3 new verdicts of theirs" in client.post(address, {**form, "file": upload(rows)}).content.decode()
    assert not Verdict.objects.exists()
    assert client.post(address, {**form, "file": upload(rows), "action": "import"}).status_code == 302
    assert run.verdicts.count() == 3
    assert "3 are here already" in client.post(address, {**form, "file": upload(rows)}).content.decode()


def test_downloads_are_rows_of_the_run_and_verdicts_wait_until_they_are_shown(setting):
    run = work_through(setting.launch())
    client = setting.team.client("admin")
    reply = client.get(reverse("evaluation:run-responses-file", args=["bench", run.number]))
    assert [json.loads(line) for line in reply.getvalue().decode().splitlines()] == list(response_rows(run))
    address = reverse("evaluation:run-verdicts-file", args=["bench", run.number])
    assert client.get(address).status_code == 403
    marking_actions.reveal_verdicts(run, actor=setting.team.admin)
    for format in ("lhdr", "mr-lhdr"):
        reply = client.get(address, {"format": format})
        assert [json.loads(line) for line in reply.getvalue().decode().splitlines()] == list(verdict_rows(run, format))
    assert client.get(address, {"format": "xml"}).status_code == client.get(address, {"judge": "x"}).status_code == 404


# --- commands and API ---------------------------------------------------------------------------------------------


def command(name, *arguments, **options):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        call_command(name, *map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_commands_import_and_export_a_run(setting, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(data([*answers(setting), {"id": "nowhere"}]))
    common = ("bench", "r1", file, "--system", "elsewhere", "--judge", setting.judge.name)
    with pytest.raises(CommandError, match="skip-refused"):
        command("import_responses", *common, "--group", "deep_research", "--family", "f")
    with pytest.raises(CommandError, match="--group"):
        command("import_responses", *common, "--skip-refused")
    nothing = ("bench", "r1", tmp_path / "none.jsonl", *common[3:], "--skip-refused")
    with pytest.raises(CommandError, match="no row of the file answers an item"):
        command("import_responses", *nothing)
    whole = (*common, "--skip-refused", "--group", "deep_research", "--family", "f")
    out, err = command("import_responses", *whole, "--dry-run")
    assert "3 rows read as lhdr" in out and "no item" in err and not Run.objects.exists()
    assert "run 1" in command("import_responses", *whole)[0]
    assert "nothing changed" in command("import_responses", *whole)[0]
    verdicts = tmp_path / "v.jsonl"
    verdicts.write_bytes(data({"id": uid, "answer_correct": True, "vector": [1] * 10} for uid in uids(setting)))
    out, _err = command("import_verdicts", "bench", 1, verdicts, "--judge", "theirs")
    assert "3 new verdicts of theirs" in out
    out, _err = command("export_run", "bench", 1, "--out", tmp_path / "out", "--judge", "theirs")
    assert "3 rows" in out
    assert len((tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()) == 3
    for wrong in (("bench", 9, "--out", tmp_path), ("bench", 1, "--out", tmp_path, "--judge", "nobody")):
        with pytest.raises(CommandError):
            command("export_run", *wrong)


@pytest.mark.parametrize(("who", "expected"), ROLES)
def test_api_imports_for_admins(setting, who, expected):
    client, run = setting.team.client(who), imported(setting, judge=setting.judge)
    body = {"file": upload(answers(setting, text="x")), "release": "r1", "system": "new", "group": "deep_research",
            "family": "f", "judge": setting.judge.name}  # fmt: skip
    reply = client.post(f"{API}import/", body)
    assert reply.status_code == expected, reply.content
    rows = [{"id": uids(setting)[0], "judge": "j", "answer_correct": True, "vector": [1] * 10}]
    reply = client.post(f"{API}{run.number}/verdicts/import/", {"file": upload(rows)})
    assert reply.status_code == expected, reply.content
    if expected == 200:
        assert reply.json() == {"format": "lhdr", "judges": ["j"], "new": 1, "known": 0, "refused": []}
        again = client.post(f"{API}import/", {**body, "file": upload(answers(setting, text="x"))}).json()
        assert (again["new"], again["run"]) == (False, 2)


def test_api_refuses_rows_unless_told_to_leave_them_out(setting):
    client = setting.team.client("admin")
    rows = [*answers(setting), {"id": "nowhere"}]
    body = {"release": "r1", "system": "new", "group": "deep_research", "family": "f", "judge": setting.judge.name}
    reply = client.post(f"{API}import/", {**body, "file": upload(rows)})
    assert reply.status_code == 422 and "row 4" in reply.json()["problems"][0]["message"]
    reply = client.post(f"{API}import/", {**body, "file": upload(rows), "dry_run": True, "skip_refused": True})
    assert reply.json()["run"] is None and len(reply.json()["refused"]) == 1
    for wrong in ({"release": "r9"}, {"judge": "nobody"}, {"group": "x"}, {"file": upload(b"\x00")}, {"system": ""}):
        reply = client.post(f"{API}import/", {**body, "file": upload(answers(setting)), **wrong})
        assert reply.status_code == 422, wrong
    assert client.post(f"{API}import/", b"{}", content_type="application/json").status_code in (415, 422)
    assert not Run.objects.exists()
