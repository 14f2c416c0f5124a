"""The benchmarks run in a tiny size, and what they write is well-formed. How fast anything is, no test asks."""

import json
import math
from pathlib import Path

import pytest

from annotation.document import dangling_links, read_document
from bench.__main__ import main
from bench.common import item_data, met, row


def test_bench_when_run_in_a_tiny_size_writes_whole_rows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    main(["web", "data", "scoring", "--quick", "--sizes", "9"], results=tmp_path / "results.json")
    found = json.loads((tmp_path / "results.json").read_text())
    assert list(found["rows"]) == ["web", "data", "scoring"]
    rows = [r for each in found["rows"].values() for r in each]
    assert {"list of 50 of 9, last, page", "open an item, JSON", "import 9", "verify 9, released"} <= {
        r["name"] for r in rows
    }
    table = capfd.readouterr().out
    for r in rows:
        assert f"\n{r['name']} " in table
        assert 0 < r["low"] <= r["median"] <= r["high"] and r["unit"]
        assert math.isclose(r["ratio"], r["median"] / r["baseline"])


def test_row_when_measured_has_medians_and_their_ratio() -> None:
    r = row("a page", [30.0, 10.0, 20.0], [4.0, 5.0, 6.0], aim="≤ 40 ms, ≤ 4x")
    assert (r["low"], r["median"], r["high"], r["baseline"], r["ratio"]) == (10, 20, 30, 5, 4)


@pytest.mark.parametrize(
    ("aim", "expected"),
    [("≤ 40 ms, ≤ 4x", True), ("≤ 40 ms, ≤ 3.9x", False), ("≤ 19 ms, ≤ 4x", False), ("≥ 20 saves/s", True),
     ("≥ 21 saves/s", False)],
)  # fmt: skip
def test_met_when_median_is_20_and_ratio_4_weighs_every_part_of_the_aim(aim: str, expected: bool) -> None:
    assert met(row("a page", [20.0], [5.0], aim=aim)) is expected


def test_item_data_makes_whole_items_of_the_size_they_claim() -> None:
    document = read_document(item_data(7))
    assert (len(document.nodes), len(document.checklist), len(document.sources)) == (5, 12, 8)
    assert not dangling_links(document)
    assert 4_200 < len(json.dumps(item_data(7))) < 4_600
    assert item_data(7) == item_data(7) != {**item_data(8), "id": "bench-7"}


def test_bench_when_a_name_is_unknown_says_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pages"])
    assert "there is no pages; choose from start, web, data, scoring, engine, evaluation" in capsys.readouterr().err
