import datetime as dt

import pytest

from lhdr_site.shared.downloads import csv_cell, csv_response, dated


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx"])
def test_csv_cell_of_what_would_be_a_formula_is_text(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


def test_csv_cell_of_other_values_is_as_it_was() -> None:
    assert csv_cell("a=1") == "a=1" and csv_cell(-1) == -1 and csv_cell(None) == ""
    assert csv_cell(dt.date(2026, 1, 2)) == "2026-01-02"


def test_csv_response_is_an_attachment_that_is_written_while_it_is_read() -> None:
    read = []
    rows = ([read.append(n), "=x", n] for n in range(2))
    reply = csv_response(dated("list"), ["", "a", "b,c"], rows)
    assert read == []
    assert reply.getvalue().decode() == "\ufeff,a,\"b,c\"\r\n,'=x,0\r\n,'=x,1\r\n"
    assert reply["Content-Disposition"] == f'attachment; filename="list-{dt.date.today().isoformat()}.csv"'
    assert reply["Cache-Control"] == "private, no-store"


def test_csv_response_without_mark_begins_with_the_head() -> None:
    assert csv_response("list", ["a"], [], mark=False).getvalue() == b"a\r\n"
