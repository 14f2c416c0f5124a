"""The demo release and a published benchmark, from import to scores, through commands and the real engine."""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from annotation.document import canonical_bytes
from annotation.interchange import read_items
from annotation.models import Benchmark, Item
from audit.link_queries import link_counts
from audit.models import LinkJob
from evaluation import actions, steps
from evaluation.models import Run, RunState
from evaluation.scoring.commands import score_main
from evaluation.scoring.judge_output import Unparseable, parse_judge_output
from lhdr_site.endpoints.demo_server import DemoServer
from lhdr_site.endpoints.models import Endpoint
from tests.factories import Team

DEMO = settings.BASE_DIR / "fixtures" / "demo"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.fixture
def recorded(settings: Any) -> Iterator[DemoServer]:
    """The demo endpoint with its recordings, where the demo's endpoint row says it is."""
    server = DemoServer(folder=DEMO)
    settings.DEMO_PORT = server.server_address[1]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def work_off(run: Run) -> Run:
    """All due work of a run, in this thread, without waiting for back-off."""
    for _ in range(20):
        steps.work_on(run.pk, 60)
        run.refresh_from_db()
        if run.state == RunState.FINISHED:
            return run
        run.responses.update(due=None)
        run.verdicts.update(due=None)
    pytest.fail(f"the run is still {run.state}: {run.stop_reason}")


# The demo release has 8 items; judge Halden on Atlas Search, worked out by hand from the recorded verdicts:
#   item                    answer  stated     credited: what is stated with all it rests on
#   demo-penguin-tower      yes     11 of 12   9: step 10 is missing, and 11 and 12 rest on it
#   demo-island-lighthouse  no      11 of 13   11: a chain that stops after 11
#   demo-two-elements       yes     10 of 10   10
#   demo-two-roofs          yes     11 of 11   11
#   demo-sign-in-octets     no      7 of 11    7: 1-4 and 7-9; 5, 6, 10 and 11 are missing
#   demo-ball-in-drum       no      8 of 11    5: 6 and 7 are missing, and 8-10 rest on them
#   demo-exchanged-colours  the system refused: 0
#   demo-two-rights         no      5 of 10    5
EXPECTED = {
    "OA": 3 / 8,
    "SA": 2 / 8,
    "CS": (11 / 12 + 11 / 13 + 1 + 1 + 7 / 11 + 8 / 11 + 0 + 5 / 10) / 8,
    "DACS": (9 / 12 + 11 / 13 + 1 + 1 + 7 / 11 + 5 / 11 + 0 + 5 / 10) / 8,
}


def test_demo_release_scores_are_those_worked_out_by_hand(
    db: None, recorded: DemoServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("load_demo")
    run("export_release", "demo", "demo-1", "--out", str(tmp_path / "release.jsonl"))
    steps_of = {row["id"]: len(row["checklist"]) for row in rows(tmp_path / "release.jsonl")}
    assert len(steps_of) == 8
    verdicts = []
    for row in rows(DEMO / "recordings.jsonl"):
        if (row["role"], row["model"], row.get("system")) == ("judge", "demo-judge-halden", "demo-atlas-search"):
            parsed = parse_judge_output(row["text"], steps_of[row["item"]])
            assert not isinstance(parsed, Unparseable)
            verdicts.append({"id": row["item"], "answer_correct": parsed.answer_correct, "vector": list(parsed.vector)})
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(v) + "\n" for v in verdicts))
    arguments = [str(tmp_path / "release.jsonl"), str(tmp_path / "verdicts.jsonl"), "--json", "--bootstrap", "200"]
    assert score_main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["n"] == 8
    assert {name: printed[name] for name in EXPECTED} == pytest.approx(EXPECTED)
    credited = {item["id"]: sum(item["credited"]) for item in printed["items"]}
    assert credited["demo-penguin-tower"] == 9 and credited["demo-ball-in-drum"] == 5

    # The same through the engine: requests to the demo endpoint, verdicts parsed and stored.
    from evaluation.reports import run_scores

    atlas = work_off(Run.objects.get(system__model="demo-atlas-search"))
    scores = run_scores(atlas, atlas.main_judge)
    assert {name: scores[name] for name in EXPECTED} == pytest.approx(EXPECTED)


def test_demo_release_in_the_papers_layout_reads_back_with_nothing_lost(
    db: None, recorded: DemoServer, tmp_path: Path
) -> None:
    run("load_demo")
    for variant in ("full", "mr-lhdr"):
        (tmp_path / variant).mkdir()
        run(
            "export_release",
            "demo",
            "demo-1",
            "--out",
            str(tmp_path / variant / "metadata.jsonl"),
            "--variant",
            variant,
        )
    full = {row["id"]: row for row in rows(tmp_path / "full" / "metadata.jsonl")}
    for row in rows(tmp_path / "mr-lhdr" / "metadata.jsonl"):
        hidden = full[row["id"]]
        assert hidden["question"] not in json.dumps(row, ensure_ascii=False)
        assert all(parent < n for n, parents in enumerate(row["checklist_parents"]) for parent in parents)
        assert all((tmp_path / "mr-lhdr" / image).is_file() for image in row["images"])
    back = read_items(tmp_path / "mr-lhdr" / "metadata.jsonl")
    assert back.problems == [] and back.format == "mr-lhdr"
    assert {r.document.id: canonical_bytes(r.document.to_json()) for r in back.rows} == {
        uid: canonical_bytes(document) for uid, document in full.items()
    }


def test_demo_has_links_to_look_at_and_its_public_export_holds_nothing_hidden(
    db: None, recorded: DemoServer, tmp_path: Path
) -> None:
    run("load_demo")
    benchmark = Benchmark.objects.get(slug="demo")
    found = {narrowed: count for narrowed, count in link_counts(benchmark).items() if count}
    assert found == {"all": 4, "problems": 2, "dead": 1, "changed": 1, "unverifiable": 1, "ok": 2}
    assert not LinkJob.objects.exists(), "the demo asks for no page"
    run("export_release", "demo", "demo-1", "--out", str(tmp_path / "public.jsonl"), "--variant", "public")
    for row in rows(tmp_path / "public.jsonl"):
        assert set(row) == {"id", "language", "question", "category", "template", "operation_tags", "images"}
        assert all(set(image) == {"file", "media_type", "width", "height"} for image in row["images"])
        assert all((tmp_path / image["file"]).is_file() for image in row["images"])


def test_mm_browsecomp_from_import_to_scores(team: Team, recorded: DemoServer, cases: Path) -> None:
    run("import_items", str(cases / "mm_browsecomp.jsonl"), "--benchmark", "bench")
    assert "224" in run("lock_imported", "bench")
    assert Item.objects.filter(benchmark=team.benchmark, state="locked").count() == 224
    run("cut_release", "bench", "mm-1", "--license-note", "For a test")
    release = team.benchmark.releases.get(name="mm-1")
    assert release.item_count == 224 and not release.audited
    endpoint = Endpoint.objects.create(name="demo", base_url=recorded.address, is_demo=True, slots=20)
    team.benchmark.endpoints.add(endpoint)
    system = {"name": "s", "endpoint": endpoint, "model": "demo-any", "group": "tool_free_vlm", "family": "demo"}
    judge = {"name": "j", "endpoint": endpoint, "model": "demo-judge-any", "family": "other"}
    # 94 items have no image and the others only an address, so the run goes without them.
    launch = {
        "release": release,
        "system": actions.create_system(team.benchmark, {**system, "image_mode": "none"}, actor=team.admin),
        "judges": [actions.create_judge(team.benchmark, judge, actor=team.admin)],
        "condition": "without_image",
    }
    started = work_off(actions.launch_run(team.benchmark, launch, actor=team.admin))
    assert started.responses.filter(status="completed").count() == 224
    assert started.verdicts.filter(status="completed", unparseable="").count() == 224
    from evaluation.reports import run_scores

    scores = run_scores(started, started.main_judge)
    assert scores["n"] == 224
    assert scores["DACS"] == pytest.approx(scores["CS"])  # no step names a prerequisite
    assert 0 < scores["CS"] < 1
