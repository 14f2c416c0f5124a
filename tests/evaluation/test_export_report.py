"""The report as a folder: the same bytes twice, every number a macro, nothing from elsewhere, and refusals in words."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluation.analyses.exports import macros, shown, tex
from evaluation.analyses.tables import Column, Result, Table, percent_column
from evaluation.models import Report
from tests.evaluation.setting import Setting
from tests.evaluation.test_views_results import judged_run


def export(folder: Path, *arguments: str, **options: Any) -> dict[str, bytes]:
    call_command("export_report", "bench", *arguments, out=folder, **options)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_report_is_the_same_to_the_byte_also_where_nothing_is_stored(setting: Setting, tmp_path: Path) -> None:
    for name, steps in (("Northlight 2", [10, 5, 0]), ("South_light", [0, 5, 5])):
        judged_run(setting, name, [True, True, False], steps)
    first = export(tmp_path / "a", release="r1")
    assert export(tmp_path / "b", release="r1") == first
    Report.objects.all().delete()
    assert export(tmp_path / "c", release="r1") == first
    page = first["index.html"].decode()
    assert "Northlight 2" in page and "66.7%" in page and "not audited" in page
    assert not re.search(r'(src|href)="(https?:|/)', page)  # works from a folder, loads nothing from elsewhere
    for name in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert name in first, name
    lines = first["macros.tex"].decode().splitlines()
    names = re.findall(r"\\newcommand\{\\(\w+)\}", "\n".join(lines))
    assert len(names) == len(set(names)) and all(re.fullmatch("[A-Za-z]+", name) for name in names)
    assert r"\newcommand{\lhdrGapsAnswerGapNorthlightTwoOA}{66.7\%}" in lines
    stored = Report.objects.get(kind="analysis:gaps")
    assert f"% {stored.input_hash}" in lines
    assert r"South\_light" in first["tables/gaps-answer-gap.tex"].decode()
    assert first["tables/gaps-answer-gap.csv"].decode().startswith("system,OA,OA_low,OA_high")


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [((), {"release": "x"}, "release:"), (("9",), {}, "study:"), ((), {"judge": "x"}, "judge:"), ((), {}, "finished")],
)
def test_report_of_what_is_not_there_says_so(
    setting: Setting, tmp_path: Path, arguments: tuple[str, ...], options: dict[str, str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        export(tmp_path / "a", *arguments, **options)
    assert not (tmp_path / "a").exists()
    with pytest.raises(CommandError, match="no benchmark"):
        call_command("export_report", "nowhere", out=tmp_path)


def test_macros_of_like_names_stay_apart_and_undefined_has_none() -> None:
    columns = (Column("who", "who"), percent_column("v", "v", interval=True))
    rows = [{"who": who, "v": 0.5, "v_low": None, "v_high": None} for who in ("a 1", "a-1", "a1")]
    lines = list(macros("k", Result([Table("t", "T", columns, rows)], 1), set()))
    assert len(lines) == 3 and len({line.split("}")[0] for line in lines}) == 3


def test_values_in_words_and_tex() -> None:
    assert [shown(v, k) for v, k in [(None, "percent"), (-0.0001, "percent"), (0.0001, "p"), (True, "flag")]] == [
        "–", "0.0%", "< 0.001", "yes",
    ]  # fmt: skip
    assert tex(r"a_b & 5% \ {x} − 1") == r"a\_b \& 5\% \textbackslash{} \{x\} $-$ 1"
