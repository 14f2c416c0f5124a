"""Figures of a set of documents, worked out by hand."""

from dataclasses import replace
from typing import Any

from annotation.document import Document
from audit.figures import percent, summary
from tests.documents import good_document


def plain(document: Document, **changes: Any) -> dict[str, Any]:
    return replace(document, **changes).to_json()


def test_summary_of_two_documents() -> None:
    good = good_document(category="media", template="linear", operation_tags=("constraint", "numerical"))
    short = replace(good, checklist=(), sources=(), images=(), category=None, template=None, operation_tags=())
    found = summary([plain(good), plain(short)])
    steps, sources = len(good.checklist), len(good.sources)
    assert (found["items"], found["steps"]["total"], found["steps"]["mean"]) == (2, steps, steps / 2)
    assert (found["steps"]["min"], found["steps"]["max"], found["sources"]["median"]) == (0, steps, sources / 2)
    assert found["depth"]["min"] == 0 and found["urls"] == len({source.url for source in good.sources})
    assert found["with"]["non_text"] == 1 and found["with"]["image"] == 1
    rows = {(row["scope"], row["group"]): row for row in found["table"]}
    assert rows["category", "media"] == {
        "scope": "category", "group": "media", "items": 1, "steps": float(steps), "sources": float(sources)
    }  # fmt: skip
    assert rows["category", ""]["items"] == 1 and rows["steps", "<10"]["items"] == (2 if steps < 10 else 1)
    assert rows["tag", "numerical"]["items"] == 1 and rows["sources", "0"]["items"] == 1


def test_wikipedia_pdf_and_video_are_known_by_kind_or_by_url() -> None:
    good = good_document()
    urls = ["https://de.wikipedia.org/wiki/X", "https://example.org/a.pdf", "https://www.youtube.com/watch?v=x"]
    sources = [replace(good.sources[0], key=f"s{n}", url=url, kind="web") for n, url in enumerate(urls, 1)]
    found = summary([plain(good, sources=tuple(sources), images=())])
    assert found["kinds"] == {"pdf": 1, "video": 1, "wikipedia": 1}
    assert (found["with"]["pdf_video_map"], found["with"]["image"]) == (1, 0)


def test_summary_of_nothing_has_zeros_and_nulls() -> None:
    found = summary([])
    assert found["items"] == 0 and found["steps"]["mean"] is None and found["table"] == []


def test_percent_rounds_halves_up() -> None:
    assert [percent(1, 8), percent(1, 3), percent(0, 5), percent(1, 0)] == [13, 33, 0, None]
