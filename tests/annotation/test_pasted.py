"""Pasted text as rows: lines, cells of spreadsheets with and without headings, and what people really paste."""

import pytest

from annotation.forms.pasted import read_pasted
from tests.annotation.pages import open_form, url
from tests.factories import Team


def rows(text: str, name: str = "checklist", before: int = 0) -> list[dict[str, str]]:
    return read_pasted(name, text, before).rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\nTwo.", ["One.", "Two."]),
        ("1. One.\r\n\r\n2) Two.\r\n", ["One.", "Two."]),
        ("- One\n• Two\nc3. Three\n4、四", ["One", "Two", "Three", "四"]),
        ("1975 was dry.\n3.5 km long.", ["1975 was dry.", "3.5 km long."]),
        ('"Quoted" at the start\n"All of it"', ['"Quoted" at the start', '"All of it"']),
        ('"First line\nsecond line"\nNext', ["First line\nsecond line", "Next"]),
        ('"Says ""so"" twice"', ['Says "so" twice']),
        ('"Never closed\nNext', ['"Never closed', "Next"]),
        (" \n\t\n", []),
        ("", []),
    ],
)
def test_lines_become_conclusions(text: str, expected: list[str]) -> None:
    assert [row["conclusion"] for row in rows(text)] == expected


def test_cells_without_headings_are_read_by_their_place() -> None:
    assert rows('The bridge.\t\t"It starts\nthe chain"\nThe engineer.\t1\tNext') == [
        {"conclusion": "The bridge.", "prerequisites": "", "why_needed": "It starts\nthe chain"},
        {"conclusion": "The engineer.", "prerequisites": "1", "why_needed": "Next"},
    ]


def test_first_column_of_numbers_counts_the_rows() -> None:
    # the table calls its rows 10 and 11; they become rows 4 and 5 of the form
    pasted = read_pasted("checklist", "10\tA\t\n11\tB\t10, c2", before=3)
    assert pasted.columns == ("number", "conclusion", "prerequisites")
    assert [row["prerequisites"] for row in pasted.rows] == ["", "4, c2"]


def test_prerequisites_without_a_number_column_count_the_pasted_rows() -> None:
    pasted = rows("A\t\nB\t1\nC\t1，2、9", before=5)
    assert [row["prerequisites"] for row in pasted] == ["", "6", "6, 7, 9"]


def test_headings_say_which_column_is_which_in_any_order() -> None:
    pasted = read_pasted(
        "checklist", "Why needed\tEvidence\tStep\tMood\tDepends on\nx\tImage\tA\tgood\t–\ny\tsmell\tB\t\t1"
    )
    assert pasted.headings and pasted.unread == ("smell",)
    assert pasted.columns == ("why_needed", "modality", "conclusion", "", "prerequisites")
    assert pasted.rows == [
        {"why_needed": "x", "modality": "image", "conclusion": "A", "prerequisites": ""},
        {"why_needed": "y", "conclusion": "B", "prerequisites": "1"},
    ]


def test_chinese_headings_are_known() -> None:
    assert rows("结论\t前提\t理由\n甲\t\t\n乙\t1\t因为") == [
        {"conclusion": "甲", "prerequisites": "", "why_needed": ""},
        {"conclusion": "乙", "prerequisites": "1", "why_needed": "因为"},
    ]


def test_ragged_rows_and_columns_too_many_lose_no_row() -> None:
    assert [row["conclusion"] for row in rows("A\nB\t1\tw\tx\ty\tz\n\tonly prerequisites")] == ["A", "B", ""]


def test_sources_and_nodes_have_columns_of_their_own() -> None:
    assert rows("URL\tClaim\tType\nhttps://a.example\tIt says so\tPDF", "sources") == [
        {"url": "https://a.example", "claim": "It says so", "kind": "pdf"}
    ]
    assert rows("Forth Bridge\tthe bridge\tartifact", "nodes") == [
        {"entity": "Forth Bridge", "aliases": "the bridge", "kind": "artifact"}
    ]
    assert rows("n1\tn2\tshared attribute\tdesigner", "relations")[0]["kind"] == "shared_attribute"


def test_rows_are_given_to_members_and_nothing_is_saved(team: Team) -> None:
    item = team.item()
    reply = team.client("ann").post(url(item, "paste/checklist/"), {"text": "A\t\nB\t1", "before": "10"})
    assert reply.json()["rows"][1] == {"conclusion": "B", "prerequisites": "11"}
    assert team.client("ann").post(url(item, "paste/images/"), {"text": "A"}).status_code == 404
    assert team.client("stranger").post(url(item, "paste/checklist/"), {"text": "A"}).status_code == 404
    assert team.client("ann").get(url(item, "paste/checklist/")).status_code == 405
    odd = {"text": "A\0\ud800\tb".encode("utf-8", "surrogatepass"), "before": "9" * 5000}
    assert team.client("ann").post(url(item, "paste/checklist/"), odd).status_code == 200
    item.refresh_from_db()
    assert item.revision_number == 1


def test_pasted_cells_are_saved_without_script(team: Team) -> None:
    item, client = team.item(), team.client("ann")
    fields = open_form(client, item, "checklist") | {"checklist-paste": "A new one.\t\tBecause\nAnother.\t1, c3\t"}
    assert client.post(url(item, "checklist/"), fields).status_code == 302
    item.refresh_from_db()
    [first, second] = item.document["checklist"][10:]
    assert (first["conclusion"], first["why_needed"]) == ("A new one.", "Because")
    assert second["prerequisites"] == [first["key"], "c3"]
