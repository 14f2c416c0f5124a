"""Text and URLs folded for comparison: equal pages meet, different ones stay apart, the quick way says the same."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.folding import fold, normalize_url


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Two\n\twords ", "two words"),
        ("Éclair ÉCLAIR", "eclair eclair"),
        ("Straße", "strasse"),
        ("ＡＢＣ１２３", "abc123"),
        ("e\u0301", "e"),  # decomposed and composed meet
        ("武汉长江大桥", "武汉长江大桥"),
        ("", ""),
    ],
)
def test_fold_when_written_otherwise_meets(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_fold_twice_is_fold_and_composition_does_not_matter(text: str) -> None:
    once = fold(text)
    assert fold(once) == fold(fold(once))
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_fold_of_plain_text_is_what_the_long_way_gives(text: str) -> None:
    assert fold(text) == fold(text + "é")[:-1].strip()


@pytest.mark.parametrize(
    "url",
    [
        "https://en.wikipedia.org/wiki/Forth_Bridge",
        "http://en.m.wikipedia.org/wiki/Forth_Bridge/",
        "https://www.en.wikipedia.org:443/wiki/Forth%5FBridge#History",
        " https://EN.wikipedia.org/wiki/Forth_Bridge?utm_source=x&fbclid=1 ",
    ],
)
def test_normalize_url_of_one_page_is_one_form(url: str) -> None:
    assert normalize_url(url) == "en.wikipedia.org/wiki/Forth_Bridge"


def test_normalize_url_keeps_pages_apart_and_texts_as_they_are() -> None:
    assert normalize_url("https://example.org/a?id=1") != normalize_url("https://example.org/a?id=2")
    assert normalize_url("https://example.org/a?b=2&a=1") == normalize_url("https://example.org/a?a=1&b=2")
    assert normalize_url("https://example.org:8080/") == "example.org:8080"
    assert normalize_url(" no address ") == "no address"
    assert normalize_url("http://[half") == "http://[half"
