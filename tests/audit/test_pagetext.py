"""Text out of pages, walls before them, and quotes in them."""

import time

import pytest

from audit.pagetext import PageText, is_wall, quote_score, read_page, says_not_found

PAGE = b"""<!doctype html><html><head><title> The &amp; bridge </title><style>p { color: red }</style>
<script>var a = "<p>not text</p>";</script></head><body><!-- nor this > --><h1>Bridges</h1><table><tr><td>one<td>two
</table><p>It was <b>re</b>built in 1889&nbsp;by&#32;two <i>brothers</i>.</p><noscript>Enable it</noscript></body>"""


def test_read_page_gives_title_and_text_without_what_nobody_sees() -> None:
    page = read_page(PAGE, "text/html; charset=utf-8")
    assert page == PageText("The & bridge", "Bridges one two It was rebuilt in 1889 by two brothers.")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Café 橋".encode(), "text/html"),
        ("Café 橋".encode(), "text/html; charset=no-such"),
        ("Café 橋".encode("utf-16"), "text/html; charset=utf-16"),
        (b'<meta charset="gb18030">' + "Café 橋".encode("gb18030"), "text/html"),
        ("Café 橋".encode(), "text/plain"),
    ],
)
def test_read_page_finds_out_the_charset(body: bytes, content_type: str) -> None:
    assert read_page(body, content_type).text == "Café 橋"
    assert read_page("Café".encode("latin-1") * 9, "text/html").text.startswith("Café")  # nothing says so


@pytest.mark.parametrize("piece", [b"<div>", b"<a ", b"<!--", b"<!", b"<title ", b"<script>", b"<", b"<p>&#"])
def test_read_page_takes_any_megabyte_quickly(piece: bytes) -> None:
    begun = time.monotonic()
    read_page(piece * (1_000_000 // len(piece)), "text/html")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("quote", "score"),
    [
        ("rebuilt in 1889 by two brothers", 100),
        ("“REBUILT in 1889”", 100),  # quotation marks around it, case
        ("rebuilt  in\n1889", 100),
        ("Bridges … two brothers", 100),  # its parts may stand apart
        ("Bridges [...] three sisters from the north", 0),
        ("", None),
        ("…", None),
    ],
)
def test_quote_score_takes_space_case_and_marks_for_the_same(quote: str, score: int | None) -> None:
    assert quote_score(quote, read_page(PAGE, "text/html").text) == score


def test_quote_score_says_nearly_as_a_share_below_100_and_nothing_without_text() -> None:
    near = quote_score("It was rebuild in 1889 by two brothers.", read_page(PAGE, "text/html").text)
    assert near is not None and 90 <= near < 100
    assert quote_score("a quote", "") is None
    assert quote_score("a quote that is much longer than its page", "quote") is not None


def test_walls_and_pages_that_say_not_found_are_told_from_pages() -> None:
    assert is_wall(PageText("Just a moment...", "Checking your browser"))
    assert is_wall(PageText("Shop", "Please solve the CAPTCHA to go on"))
    assert not is_wall(PageText("CAPTCHA", "A history of the captcha. " * 100))
    assert says_not_found(PageText("404 | Museum", "")) and says_not_found(PageText("Page not found – X", ""))
    assert not says_not_found(PageText("Route 404 in Ohio", ""))
