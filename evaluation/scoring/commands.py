"""The commands `lhdr score` and `lhdr parse_verdict`: arguments in, text or JSON out, no database.

Pure: imports no Django.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from evaluation.scoring.files import ScoreError, decode_text, read_text, score_files
from evaluation.scoring.judge_output import Verdict, parse_judge_output
from evaluation.scoring.metrics import METRICS, Profile

FAILED = 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ScoreError(f"{message} (see {self.prog} --help)")


def score_main(argv: Sequence[str]) -> int:
    """`lhdr score`: 0 and the metrics on stdout, or 2 and one line on stderr."""
    return _guarded("score", _score, argv)


def parse_verdict_main(argv: Sequence[str]) -> int:
    """`lhdr parse_verdict`: 0 and JSON on stdout, also for an unparseable output; or 2 and one line on stderr."""
    return _guarded("parse_verdict", _parse_verdict, argv)


def _guarded(name: str, command: Callable[[_Parser, Sequence[str]], str], argv: Sequence[str]) -> int:
    try:
        output = command(_Parser(prog=f"lhdr {name}"), argv)
    except ScoreError as error:
        message = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
        print(f"lhdr {name}: {message}", file=sys.stderr)
        return FAILED
    print(output)
    return 0


def _score(parser: _Parser, argv: Sequence[str]) -> str:
    parser.description = "Score verdicts on a release: OA, SA, CS and DACS with bootstrap intervals."
    parser.add_argument("release", metavar="RELEASE.jsonl", help="a release export, or the paper's metadata.jsonl")
    parser.add_argument("verdicts", metavar="VERDICTS.jsonl", help='rows {"id", "answer_correct", "vector"}')
    parser.add_argument("--responses", metavar="FILE", help="response rows; a failed one scores zero")
    parser.add_argument(
        "--profile", choices=[p.value for p in Profile], default=Profile.STRICT.value, help="default: %(default)s"
    )
    parser.add_argument("--bootstrap", type=int, default=10_000, metavar="N", help="resamples, default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the resamples, default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON: fractions, and each item's steps")
    args = parser.parse_args(argv)
    result = score_files(args.release, args.verdicts, args.responses, args.profile, args.bootstrap, args.seed)
    return json.dumps(result) if args.json else _table(result)


def _table(result: dict[str, Any]) -> str:
    zero = result["zero"]
    lines = [f"{result['n']} items, profile {result['profile']}"]
    for metric in METRICS:
        interval = "  [{:5.1f}, {:5.1f}]".format(*(100 * end for end in result["ci"][metric])) if result["ci"] else ""
        lines.append(f"{metric:<5}{100 * result[metric]:5.1f} %{interval}")
    if result["ci"]:
        lines.append(f"95 % intervals over {result['bootstrap']} resamples of the items, seed {result['seed']}")
    if any(zero.values()):
        lines.append(
            f"counted as zero: {zero['no_verdict']} without a verdict, {zero['unparseable']} with an unparseable one,"
            f" {zero['failed_response']} without a response"
        )
    return "\n".join(lines)


def _parse_verdict(parser: _Parser, argv: Sequence[str]) -> str:
    parser.description = "Read the verdict in a judge's output; prints JSON."
    parser.add_argument("file", metavar="FILE", help="what the judge printed, or - for standard input")
    parser.add_argument("--steps", type=int, required=True, metavar="N", help="number of steps on the checklist")
    args = parser.parse_args(argv)
    if args.steps < 1:
        raise ScoreError(f"--steps is {args.steps}: give the number of steps on the checklist, 1 or more")
    text = decode_text(sys.stdin.buffer.read(), "standard input") if args.file == "-" else read_text(args.file)
    read = parse_judge_output(text, args.steps)
    if isinstance(read, Verdict):
        return json.dumps(
            {"answer_correct": read.answer_correct, "vector": list(read.vector), "flags": list(read.flags)}
        )
    return json.dumps({"unparseable": read.reason})
