"""Pages of evaluation over real HTTP, beside a bare Django server that renders as many elements.

Run `python -m bench.bench_evaluation`. Responses and verdicts stand in the database as a worker leaves them. The last
rows are of a study of 100 systems, as many items as the other large run has, and 12 judges: a million verdicts.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from bench.bench_web import BARE, SITE, TABLES, _session
from bench.common import Client, Row, in_turn, item_data, measure, milliseconds, print_rows, row, serving, set_up

SYSTEMS, RELEASE = 25, 102
LARGE_SYSTEMS, LARGE_JUDGES = 100, 12
# Analyses of the large study: what takes longest, and what is asked for most.
LARGE = ("gaps", "separability", "splits", "judges", "health", "sensitivity")
TEXT = "The ferry leads to the harbour, and the harbour to the archive that the minister kept. " * 30


def run(responses: int = 1_000, repeats: int = 20, systems: int = LARGE_SYSTEMS) -> list[Row]:
    return [
        *measure("bench.bench_evaluation", responses=responses, repeats=repeats),
        *measure("bench.bench_evaluation", large=systems, responses=responses),
    ]


def _measure(responses: int, repeats: int = 0, large: int = 0) -> list[Row]:
    return _of_large_study(large, responses) if large else _of_pages(responses, repeats)


def _of_large_study(systems: int, items: int) -> list[Row]:
    """Pages of a study in which everybody judged everything: without any stored figure but the runs' packed copies,
    which a worker stores at the end of each run, and again. The baseline reads the bare rows once."""
    team = set_up()
    from django.db import connection
    from django.urls import reverse

    from evaluation.models import Report
    from evaluation.reports import store_leaderboards

    release = fill_study(team.benchmark, team.ann, team.admin, systems, items)
    store_leaderboards(release)
    rows: list[Row] = []
    with serving(SITE) as (port, _pid):
        client = Client(port, _session(team.ann))
        client.wait("/")

        def bare() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT response_id, judge_id, answer_correct, vector FROM evaluation_verdict")
                while cursor.fetchmany(5000):
                    pass

        baseline = [milliseconds(bare)]
        for name in ("leaderboard", *LARGE):
            known = [] if name == "leaderboard" else [name]
            page = reverse("evaluation:analysis" if known else "evaluation:leaderboard", args=["bench", *known])
            what = f"{name}, {systems} systems x {items:,} items x {LARGE_JUDGES} judges"
            if known:
                cold = [milliseconds(lambda page=page: client.get(page))]
                rows.append(row(f"{what}, cold", cold, baseline, aim="≤ 3000 ms"))
            warm = [milliseconds(lambda page=page: client.get(page)) for _ in range(5)]
            rows.append(row(f"{what}, warm", warm, baseline, aim="≤ 100 ms"))
        assert Report.objects.filter(kind__startswith="analysis:").count() == len(LARGE)
    return rows


def _of_pages(responses: int, repeats: int) -> list[Row]:
    team = set_up()  # before anything of Django's is imported
    from django.db import connection
    from django.urls import reverse

    from evaluation.models import Report
    from evaluation.reports import store_leaderboards

    boards, large, huge = fill(team.benchmark, team.ann, team.admin, responses)
    with connection.cursor() as cursor:
        for statement in TABLES:
            cursor.execute(statement)
        cursor.execute("INSERT INTO bench_item VALUES (1, %s)", [json.dumps(item_data(1))])
    results = reverse("evaluation:leaderboard", args=["bench"]) + f"?release={boards[0].release.name}"
    run_page = reverse("evaluation:run-page", args=["bench", large.number])
    huge_page = reverse("evaluation:run-page", args=["bench", huge.number])
    moving = reverse("evaluation:run-progress", args=["bench", huge.number]) + "?state=finished-still"
    pk = large.responses.order_by("pk").values_list("pk", flat=True)[large.item_count // 2]
    response = reverse("evaluation:response-page", args=["bench", large.number, pk])
    with serving(SITE) as (port, _pid), serving(BARE) as (bare_port, _bare_pid):
        client, bare = Client(port, _session(team.ann)), Client(bare_port)
        client.wait(run_page)
        bare.wait("/")

        def beside(name: str, path: str, aim: str, cold: bool = False) -> Row:
            def ours() -> None:
                client.get(path)

            store_leaderboards(boards[0].release)
            text = client.get(path)
            elements = text.count(b"</") + text.count(b"<input") + text.count(b"<use")
            plain = f"/item/1/{elements}/"
            if not cold:
                return row(name, *in_turn(ours, lambda: bare.get(plain), repeats), aim=aim)
            taken: list[tuple[float, float]] = []
            for _ in range(repeats):
                Report.objects.all().delete()
                taken.append((milliseconds(ours), milliseconds(lambda: bare.get(plain))))
            return row(name, [t[0] for t in taken], [t[1] for t in taken], aim=aim)

        return [
            beside(f"leaderboard page, {SYSTEMS} systems, all intervals, cold", results, "≤ 150 ms", cold=True),
            beside(f"leaderboard page, {SYSTEMS} systems, all intervals, warm", results, "≤ 30 ms"),
            beside(f"open a run of {large.item_count:,} responses", run_page, "≤ 60 ms"),
            beside(f"open a run of {huge.responses.count():,} responses", huge_page, "≤ 150 ms"),
            beside(f"what moves on the page of {huge.responses.count():,}", moving, "≤ 100 ms"),
            beside("open one response", response, "≤ 30 ms"),
        ]


# --- what stands in the database ----------------------------------------------------------------------------------


def fill_study(benchmark: Any, author: Any, admin: Any, count: int, items: int) -> Any:
    """A release on which so many systems have finished a run each, with the verdicts of 12 judges that mostly agree."""
    from django.utils import timezone

    from evaluation.actions import create_judge, create_system
    from evaluation.models import Response, Verdict
    from lhdr_site.endpoints.models import Endpoint

    release = _release(benchmark, "large", range(1, items + 1), author, admin)
    endpoint = Endpoint.objects.create(name="bench", base_url="http://127.0.0.1:9/v1")
    benchmark.endpoints.add(endpoint)
    judges = [
        create_judge(benchmark, {"name": f"judge {n}", "endpoint": endpoint, "model": f"j{n}"}, actor=admin)
        for n in range(LARGE_JUDGES)
    ]
    now = timezone.now()
    for number in range(1, count + 1):
        fields = {"name": f"system {number}", "endpoint": endpoint, "model": f"m{number}", "group": "tool_free_vlm"}
        system = create_system(benchmark, {**fields, "family": f"family {number % 7}"}, actor=admin)
        run = _finished_run(benchmark, release, system, judges[0], admin, number, verdicts=False)
        run.judges.add(*judges)
        draw, skill = random.Random(number), 0.3 + 0.6 * number / count
        verdicts = []
        for pk in Response.objects.filter(run=run).order_by("pk").values_list("pk", flat=True):
            truth, right = [int(draw.random() < skill) for _ in range(12)], draw.random() < skill * 0.6
            for judge in judges:
                verdicts.append(
                    Verdict(
                        run=run, response_id=pk, judge=judge, endpoint=endpoint, status="completed", ended=now,
                        answer_correct=right == (draw.random() < 0.95), output="-",
                        vector=[mark if draw.random() < 0.93 else 1 - mark for mark in truth],
                    )
                )  # fmt: skip
        Verdict.objects.bulk_create(verdicts, batch_size=2000)
    return release


def _release(benchmark: Any, name: str, numbers: range, author: Any, admin: Any) -> Any:
    from django.db import transaction

    from annotation.actions import insert_items
    from annotation.document import read_document
    from audit.actions import lock_imported
    from audit.release_actions import cut_release

    with transaction.atomic():
        insert_items(benchmark, [read_document(item_data(n)) for n in numbers], author=author, kind="import")
    lock_imported(benchmark, actor=admin)
    return cut_release(benchmark, name, actor=admin)


def fill(benchmark: Any, author: Any, admin: Any, responses: int) -> tuple[list[Any], Any, Any]:
    """Finished runs of 25 systems on a release of 102 items, one run on a release of so many more, and one of ten times
    as many responses: ten samples of each item."""
    from evaluation.actions import create_judge, create_system
    from lhdr_site.endpoints.models import Endpoint

    endpoint = Endpoint.objects.create(name="bench", base_url="http://127.0.0.1:9/v1")
    benchmark.endpoints.add(endpoint)
    judge = create_judge(benchmark, {"name": "judge", "endpoint": endpoint, "model": "judge"}, actor=admin)
    systems = [
        create_system(
            benchmark,
            {"name": f"system {n}", "endpoint": endpoint, "model": f"m{n}", "group": "tool_free_vlm", "family": "f"},
            actor=admin,
        )
        for n in range(SYSTEMS)
    ]
    small = _release(benchmark, "small", range(1, RELEASE + 1), author, admin)
    runs = [_finished_run(benchmark, small, system, judge, admin, n) for n, system in enumerate(systems, 1)]
    large = _release(benchmark, "large", range(RELEASE + 1, max(responses, RELEASE) + 1), author, admin)
    last = [_finished_run(benchmark, large, systems[n], judge, admin, SYSTEMS + 1 + n, n * 9 + 1) for n in (0, 1)]
    return runs, last[0], last[1]


def _finished_run(
    benchmark: Any,
    release: Any,
    system: Any,
    judge: Any,
    admin: Any,
    number: int,
    samples: int = 1,
    verdicts: bool = True,
) -> Any:
    from django.utils import timezone

    from audit.releases import ReleaseItem
    from evaluation.models import Attempt, Response, Run, RunEvent, Verdict

    draw, now = random.Random(number), timezone.now()
    ended = {"status": "completed", "tries": 1, "ended": now, "prompt_tokens": 900, "completion_tokens": 600}
    run = Run.objects.create(
        benchmark=benchmark, number=number, release=release, system=system, main_judge=judge, state="finished",
        item_count=release.item_count, samples=samples, launched_by=admin, started=now, ended=now,
    )  # fmt: skip
    run.judges.add(judge)
    RunEvent.objects.create(run=run, actor=admin, kind="run.launched", data={"items": run.item_count})
    items = ReleaseItem.objects.filter(release=release).order_by("position").values_list("pk", flat=True)
    answers = [
        Response(
            run=run, endpoint=system.endpoint, release_item_id=pk, sample=sample, text=TEXT, cost="0.01", **ended
        )
        for pk in items
        for sample in range(1, samples + 1)
    ]  # fmt: skip
    Response.objects.bulk_create(answers, batch_size=500)
    if not verdicts:
        return run
    answers = list(Response.objects.filter(run=run).order_by("pk"))
    given = []
    for answer in answers:
        vector = [int(draw.random() < 0.6) for _ in range(12)]
        correct = draw.random() < 0.4
        output = f"CHECKLIST_RESULT: {vector}\nOVERALL_CORRECTNESS: {'YES' if correct else 'NO'}"
        given.append(
            Verdict(
                run=run, endpoint=judge.endpoint, response=answer, judge=judge, answer_correct=correct, vector=vector,
                output=output, cost="0.001", **ended,
            )
        )  # fmt: skip
    Verdict.objects.bulk_create(given, batch_size=500)
    Attempt.objects.bulk_create(
        Attempt(response=answer, owner="0" * 32, ended=now, request={}, requested_model=system.model, http_status=200)
        for answer in answers
    )
    return run


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_measure(**json.loads(sys.argv[1]))))
    else:
        print_rows(run())
