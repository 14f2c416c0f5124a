"""`lhdr run_study`: fill the holes of a study and follow it to its end. The exit code says the outcome."""

import sys
import threading
import time
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connection

from annotation.benchmarks import Benchmark
from annotation.management.arguments import actor_for, benchmark_named
from evaluation import steps, study_actions
from evaluation.models import Run, RunState, Study
from evaluation.study_queries import GOING, Matrix
from lhdr_site.shared.errors import DomainError
from lhdr_site.shared.numbers import read_whole

COMPLETE, HOLES, STOPPED, INTERRUPTED = 0, 1, 2, 130
LOOK_SECONDS = 1.0
IDLE_SECONDS = 20.0  # after so long without any call, it is said that no worker may be there
BAR = 30


class Command(BaseCommand):
    help = (
        "Fill the holes of a study and follow it. Exit code: 0 complete, 1 holes are left, 2 stopped, 130 interrupted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", help="short name of the benchmark")
        parser.add_argument("study", help="number or name of the study")
        parser.add_argument("--work", action="store_true", help="let this process make the calls, without a worker")
        parser.add_argument("--lanes", type=int, default=8, metavar="N", help="calls at once with --work (8)")
        parser.add_argument("--user", help="who fills the holes; the first admin without it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["benchmark"])
        study = _study_named(benchmark, options["study"])
        if not 1 <= options["lanes"] <= 100:
            raise CommandError("--lanes takes a number from 1 to 100.")
        self._shown = ""
        try:
            if not study.frozen:
                self._fill(study, actor_for(benchmark, options["user"]))
            self._follow(study, options["lanes"] if options["work"] else 0)
        except KeyboardInterrupt:
            self._end_line()
            who = "waits for a worker, or for this command" if options["work"] else "goes on in the workers"
            self.stderr.write(f"Interrupted. What was set going {who}; the study's page shows it.")
            sys.exit(INTERRUPTED)
        sys.exit(self._outcome(Matrix(_study_named(benchmark, str(study.number)))))

    def _fill(self, study: Study, actor: Any) -> None:
        try:
            filled = study_actions.fill_holes(study, actor=actor)
        except DomainError as error:
            self.stderr.write(error.message)
            return
        launched = ", ".join(f"#{number}" for number in filled.launched) or "none"
        self.stdout.write(
            f"Study {study.number}, {study.name}. Runs launched: {launched}; resumed: {filled.resumed}; asked again: "
            f"{filled.responses} responses, {filled.verdicts} verdicts."
        )
        for system, condition, why in filled.refused:
            self.stderr.write(f"{system}, {condition}: {why}")

    def _follow(self, study: Study, lanes: int) -> None:
        """Until no run of the study goes on."""
        over = threading.Event()
        crew = [threading.Thread(target=_work, args=(study.pk, over), name=f"lane-{n}") for n in range(lanes)]
        for thread in crew:
            thread.start()
        since, last = time.monotonic(), ""
        try:
            while study.runs.filter(state__in=GOING).exists():
                if lanes:
                    steps.sweep()
                matrix = Matrix(study)
                line = _line(matrix)
                if line != last or matrix.responses.lacking("running") or matrix.verdicts.lacking("running"):
                    since, last = time.monotonic(), line
                elif time.monotonic() - since > IDLE_SECONDS:
                    self._end_line()
                    self.stderr.write("Nothing moves. Is a worker there (`lhdr up`)? With --work this process works.")
                    since = time.monotonic()
                self._show(line, matrix.responses.share)
                over.wait(LOOK_SECONDS)
        finally:
            over.set()
            for thread in crew:
                thread.join()  # calls under way come to their end
        self._end_line()

    def _show(self, line: str, share: float) -> None:
        """One line that is written over on a terminal; elsewhere a line for each change."""
        if self.stdout.isatty():
            bar = "#" * int(share * BAR)
            self.stdout.write(f"\r\x1b[K[{bar:<{BAR}}] {line}", ending="")
            self.stdout.flush()
        elif line != self._shown:
            self.stdout.write(line)
        self._shown = line

    def _end_line(self) -> None:
        if self._shown and self.stdout.isatty():
            self.stdout.write("")
        self._shown = ""

    def _outcome(self, matrix: Matrix) -> int:
        """Says how it ended, with each hole; the exit code."""
        self.stdout.write(_line(matrix))
        for row in matrix.rows:
            parts = [("responses", row.responses), *((judge.name, cell) for judge, cell in row.named_cells)]
            for name, cell in parts:
                for hole in (hole for hole in cell.holes if hole.why != "no_response"):  # the system's line says it
                    kind = f" ({hole.kind})" if hole.kind else ""
                    why = hole.why.replace("_", " ")
                    self.stderr.write(f"{row.system.name}, {row.condition_word}, {name}: {hole.count} {why}{kind}")
        for run in matrix.runs:
            if run.stop_reason and run.state == RunState.STOPPED:
                self.stderr.write(f"Run #{run.number} stopped: {run.stop_reason}")
        if matrix.is_complete:
            self.stdout.write("Complete: everything that was planned is there.")
            return COMPLETE
        waiting = {run.state for run in matrix.runs} & {RunState.STOPPED, RunState.PAUSED}
        return STOPPED if waiting or not matrix.budget_left else HOLES


def _study_named(benchmark: Benchmark, name: str) -> Study:
    studies = Study.objects.filter(benchmark=benchmark).select_related("release")
    study = studies.filter(number=read_whole(name) or 0).first() or studies.filter(name=name).first()
    if study is None:
        known = ", ".join(f"{number} ({title})" for number, title in studies.values_list("number", "name"))
        raise CommandError(f"There is no study {name!r} in {benchmark.slug}; there is: {known or 'none yet'}.")
    return study


def _line(matrix: Matrix) -> str:
    responses, verdicts = matrix.responses, matrix.verdicts
    failed = responses.lacking("failed") + verdicts.lacking("failed", "unparseable")
    line = f"{responses.done}/{responses.total} responses, {verdicts.done}/{verdicts.total} verdicts"
    return f"{line}, {failed} failed, ${matrix.spent:.2f}" + (f" + {matrix.unpriced} unpriced" * bool(matrix.unpriced))


def _work(study_pk: int, over: threading.Event) -> None:
    """One lane: a piece of work of the study's runs after the other, each run in turn."""
    try:
        while not over.is_set():
            runs = list(Run.objects.filter(study=study_pk, state__in=GOING).order_by("pk").values_list("pk", flat=True))
            worked = [steps.work_on(run, 0) for run in runs if not over.is_set()]
            if not any(worked):
                over.wait(0.2)  # the rest is under way in other lanes, or waits for its time
    finally:
        connection.close()
