"""Text and URLs folded for comparison: equal pages meet, different ones stay apart, the quick way says the same."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.folding import fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Two\n\twords ", "two words"),
        ("Éclair ÉCLAIR", "eclair eclair"),
        ("Straße", "strasse"),
        ("ＡＢＣ１２３", "abc123"),
        ("e\u0301", "e"),  # decomposed and composed meet
        ("武汉长江大桥", "武汉长江大桥"),
        ("武漢長江大橋", "武汉长江大桥"),  # traditional and simplified meet
        ("廣島と広島の桜と櫻", "广岛と广岛の樱と樱"),  # and so do the Japanese forms
        ("ﾊﾞﾅﾅ、バナナ。ばなな", "ばなな,ばなな.ばなな"),
        ("ハバパ", "はばぱ"),  # voiced kana are other letters
        ("한글", "한글"),
        ("“Forth” – „Forth‟", '"forth" - "forth‟'),
        ("", ""),
    ],
)
def test_fold_when_written_otherwise_meets(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_table_of_characters_leads_nowhere_twice_and_is_loaded_only_when_needed() -> None:
    from annotation.han import SIMPLIFIED

    assert len(SIMPLIFIED) > 4000
    assert all(len(c) == len(form) == 1 and form not in SIMPLIFIED for c, form in SIMPLIFIED.items())
    code = (
        "import sys, annotation.checks, annotation.folding as f; f.fold('Éclair');"
        " sys.exit('annotation.han' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.text())
def test_fold_twice_is_fold_and_composition_does_not_matter(text: str) -> None:
    once = fold(text)
    assert fold(once) == fold(fold(once))
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_fold_of_plain_text_is_what_the_long_way_gives(text: str) -> None:
    assert fold(text) == fold(text + "é")[:-1].strip()
