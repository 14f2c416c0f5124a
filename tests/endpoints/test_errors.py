"""The closed list of error kinds: each is explained, also in the guide, and statuses lead to the right one."""

import re
from pathlib import Path

import pytest

from lhdr_site.endpoints.demo_replies import BACKGROUND
from lhdr_site.endpoints.demo_server import BEHAVIOURS
from lhdr_site.endpoints.errors import ErrorKind, classify

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"


def rows(heading: str) -> list[list[str]]:
    section = DOCS.read_text("utf-8").split(f"## {heading}")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| `.*\|$", section, re.M)]


def test_guide_lists_every_error_kind_as_it_is() -> None:
    table = {row[0].strip("`"): row[1:] for row in rows("What can go wrong")}
    assert list(table) == list(ErrorKind)
    for kind in ErrorKind:
        again, permanent, when, remedy = table[kind]
        assert (again, permanent) == ("yes" if kind.retryable else "no", "yes" if kind.permanent else ""), kind
        assert when and remedy == kind.remedy, kind


def test_guide_lists_every_behaviour_of_the_demo_endpoint() -> None:
    assert {row[0].strip("`"): row[1] for row in rows("The demo endpoint")} == BEHAVIOURS | BACKGROUND


@pytest.mark.parametrize(
    "status, names, message, kind",
    [
        (429, (), "", "rate_limited"), (503, (), "", "overloaded"), (529, (), "", "overloaded"),
        (408, (), "", "timeout"), (409, (), "", "overloaded"), (425, (), "", "overloaded"), (504, (), "", "timeout"),
        (422, (), "", "bad_request"), (301, (), "", "bad_request"), (418, (), "", "bad_request"),
        # out of credit is sent as 429, and waiting does not help
        (429, ("insufficient_quota",), "", "payment"),
        (403, (), "Your input was flagged", "refused"), (403, (), "no access to this model", "auth"),
        (400, (), "violates our content policy", "refused"), (400, ("content_filter",), "", "refused"),
        # inside a 200, without a code
        (0, (), "", "overloaded"), (0, ("rate_limit_error",), "", "rate_limited"),
        (0, ("overloaded_error",), "", "overloaded"),
    ],
)  # fmt: skip
def test_classify_follows_name_words_and_status(status: int, names: tuple[str, ...], message: str, kind: str) -> None:
    assert classify(status, names, message) == kind
