"""Addresses: what is sound, which are one page, their kinds and places, and how they are read from pasted text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.addresses import (
    MAX_PASTED,
    deep_link,
    detect_kind,
    is_wikipedia_url,
    locator_problem,
    normalize_url,
    page_in,
    place_in,
    read_addresses,
    seconds_in,
    unwrapped,
    url_problem,
)


@pytest.mark.parametrize(
    "url, problem",
    [
        ("https://example.org", None),
        ("HTTPS://Example.org:8443/a?b=c#d", None),
        ("http://例え.jp/ページ", None),
        ("https://xn--r8jz45g.jp/", None),
        ("https://[2001:db8::1]/", None),
        ("https://example.org/100%", None),
        ("https://web.archive.org/web/2020/https://example.org/", None),
        ("1.https://example.org", "list"),
        ("[12] https://example.org", "list"),
        ("https://example.org/a b", "space"),
        ("https://example.org\n", "space"),
        (" https://example.org", "space"),
        ("https://exa\u200bmple.org", "cannot be seen"),
        ("ftp://example.org", "begin"),
        ("javascript:alert(1)", "begin"),
        ("example.org/page", "begin"),
        ("www.example.org", "begin"),
        ("https://user:secret@example.org", "user name"),
        ("https://example.org@evil.org", "user name"),
        ("https://", "host"),
        ("https:///page", "host"),
        ("https://localhost/page", "host"),
        ("https://exa..mple.org", "host"),
        ("https://-example.org", "host"),
        ("https://[2001:db8", "taken apart"),
        ("https://example.org:port/", "taken apart"),
        ("https://example.org:99999/", "taken apart"),
        ("", "missing"),
        ("https://127.0.0.1/a", "private"),
        ("https://192.168.1.7:8080/", "private"),
        ("http://10.1.2.3/x", "private"),
        ("http://[fd00::1]/", "private"),
        ("http://printer.local/", "private"),
        ("https://wiki.corp/page", "private"),
        ("https://11.0.0.1/", None),
    ],
)
def test_url_problem_names_what_is_wrong(url: str, problem: str | None) -> None:
    found = url_problem(url)
    assert (found is None) if problem is None else (problem in (found or ""))


BRIDGE = "en.wikipedia.org/wiki/Forth_Bridge"
FILM = "youtube.com/watch?v=dQw4w9WgXcQ"


@pytest.mark.parametrize(
    ("form", "urls"),
    [
        (
            BRIDGE,
            [
                "https://en.wikipedia.org/wiki/Forth_Bridge",
                "http://en.m.wikipedia.org/wiki/Forth_Bridge/",
                "https://www.en.wikipedia.org:443/wiki/Forth%5FBridge#History",
                " https://EN.wikipedia.org/wiki/Forth_Bridge?utm_source=x&fbclid=1 ",
                "https://en.wikipedia.org/wiki/Forth%20Bridge",
                "https://en.wikipedia.org/w/index.php?title=Forth_Bridge&oldid=12",
                "https://user:secret@en.wikipedia.org/wiki/Forth_Bridge",
                "https://en.wikipedia.org./wiki/Forth_Bridge#:~:text=cantilever",
                "https://web.archive.org/web/20200101000000/https://en.wikipedia.org/wiki/Forth_Bridge",
                "http://web.archive.org/web/2020id_/http:/en.wikipedia.org/wiki/Forth_Bridge#History",
                "https://archive.org/web/2/en.wikipedia.org/wiki/Forth_Bridge",
                "https://archive.ph/2020.01.01-000000/https://en.wikipedia.org/wiki/Forth_Bridge",
                "https://web.archive.org/web/2020/https%3A%2F%2Fen.wikipedia.org%2Fwiki%2FForth_Bridge",
                "https://webcache.googleusercontent.com/search?q=cache:abcdefghijkl:en.wikipedia.org/wiki/Forth_Bridge",
            ],
        ),
        ("zh.wikipedia.org/wiki/%E6%A1%A5_(a)", [
            "https://zh.wikipedia.org/wiki/桥_(a)",
            "https://zh.wikipedia.org/zh-cn/%e6%a1%a5_%28a%29",
            "https://zh.m.wikipedia.org/wiki/%E6%A1%A5_(a)",
        ]),
        ("commons.wikimedia.org/wiki/File:A_b.jpg", [
            "https://commons.wikimedia.org/wiki/File:A_b.jpg",
            "https://commons.m.wikimedia.org/wiki/File%3AA%20b.jpg",
        ]),
        (FILM, [
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
            "https://youtu.be/dQw4w9WgXcQ?si=abc&t=42",
            "https://m.youtube.com/watch?v=dQw4w9WgXcQ&t=42s&list=PL1&index=2",
            "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ?start=3",
            "https://youtube.com/shorts/dQw4w9WgXcQ",
        ]),
        ("arxiv.org/abs/2401.01234", [
            "https://arxiv.org/abs/2401.01234",
            "https://arxiv.org/pdf/2401.01234v2.pdf",
            "http://export.arxiv.org/pdf/2401.01234",
            "https://www.arxiv.org/html/2401.01234v1",
        ]),
        ("arxiv.org/abs/math.GT/0309136", ["https://arxiv.org/pdf/math.GT/0309136v1"]),
        ("doi.org/10.1000/abc", ["https://dx.doi.org/10.1000/ABC", "http://doi.org/10.1000/abc"]),
        ("xn--r8jz45g.jp/%E3%83%9A", ["https://例え.jp/ペ", "http://xn--r8jz45g.jp/%E3%83%9A"]),
        ("example.org/a%2Fb%25", ["https://example.org/a%2fb%25", "https://example.org/a%2Fb%25/"]),
        ("example.org/100%25", ["https://example.org/100%25"]),
        ("example.org/a%20b", ["https://example.org/a b", "https://example.org/a%20b"]),
        ("example.org/a?a=1&b=x+y", ["https://example.org/a?b=x%20y&a=1", "https://m.example.org/a?a=1&b=x+y&gclid=9"]),
        ("example.org", ["https://example.org", "http://www.example.org/", "https://example.org/?utm_medium=m#top"]),
        ("example.org:8080", ["https://example.org:8080/"]),
        ("example.org#/films/3", ["https://example.org/#/films/3"]),
        ("openstreetmap.org#map=15/41.9/12.4", ["https://www.openstreetmap.org/#map=15/41.9/12.4"]),
        ("no address", [" no address "]),
        ("javascript:alert(1)", ["javascript:alert(1)"]),
        ("ftp://example.org/a", ["ftp://example.org/a"]),
        ("http://[half", ["http://[half"]),
        ("https://example.org:port/", ["https://example.org:port/"]),
        ("", ["", "  "]),
    ],
)  # fmt: skip
def test_normalize_url_of_one_page_is_one_form(form: str, urls: list[str]) -> None:
    assert {url: normalize_url(url) for url in urls} == dict.fromkeys(urls, form)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a?id=1", "https://example.org/a?id=2"),
        ("https://example.org/A", "https://example.org/a"),
        ("https://example.org/a%2Fb", "https://example.org/a/b"),
        ("https://example.org/a%23b", "https://example.org/a#b"),
        ("https://example.org:8080/", "https://example.org/"),
        ("https://www.youtube.com/watch?v=aaaaaaaaaaa", "https://www.youtube.com/watch?v=bbbbbbbbbbb"),
        ("https://www.openstreetmap.org/#map=15/1/2", "https://www.openstreetmap.org/#map=15/3/4"),
        ("https://en.wikipedia.org/wiki/A", "https://de.wikipedia.org/wiki/A"),
        ("https://web.archive.org/", "https://example.org/"),
        ("https://m.org/", "https://n.org/"),
    ],
)
def test_normalize_url_keeps_pages_apart(one: str, other: str) -> None:
    assert normalize_url(one) != normalize_url(other)


@given(st.text() | st.from_regex(r"https?://[^\s]{0,20}/[^\n]{0,30}", fullmatch=True))
def test_every_function_takes_any_text(text: str) -> None:
    assert isinstance(normalize_url(text), str)
    assert detect_kind(text) and place_in(text) is not None
    url_problem(text), unwrapped(text), deep_link(text, "pdf", text), read_addresses(text)


@pytest.mark.parametrize(
    ("kind", "urls"),
    [
        ("wikipedia", ["https://en.wikipedia.org/wiki/A.pdf", "https://zh.m.wikipedia.org/wiki/A",
                       "https://web.archive.org/web/2020/https://fr.wikipedia.org/wiki/A", "https://wikipedia.org"]),
        ("pdf", ["https://example.org/a.PDF?x=1", "https://arxiv.org/pdf/2401.01234v2",
                 "https://web.archive.org/web/2020/https://example.org/a.pdf", "https://openreview.net/pdf?id=x",
                 "https://commons.wikimedia.org/wiki/File:A.pdf"]),
        ("video", ["https://youtu.be/x", "https://m.youtube.com/watch?v=x", "https://www.bilibili.com/video/BV1x",
                   "https://b23.tv/x", "https://vimeo.com/1", "https://example.org/a.webm",
                   "https://upload.wikimedia.org/a/b.ogv"]),
        ("audio", ["https://example.org/a.mp3", "https://soundcloud.com/a/b", "https://xeno-canto.org/1"]),
        ("map", ["https://www.google.com/maps/@41.9,12.4,15z", "https://maps.app.goo.gl/x", "https://maps.google.de/?q=x",
                 "https://map.baidu.com/@1,2", "https://www.openstreetmap.org/#map=1/2/3", "https://ditu.amap.com/x",
                 "https://www.bing.com/maps?cp=1", "https://yandex.ru/maps/1"]),
        ("table", ["https://example.org/a.csv", "https://docs.google.com/spreadsheets/d/x"]),
        ("web", ["https://notwikipedia.org/a", "https://example.org/maps", "https://arxiv.org/abs/1", "no address",
                 "https://commons.wikimedia.org/wiki/File:A.jpg", "https://notyoutube.com/a", "http://[half", ""]),
    ],
)  # fmt: skip
def test_detect_kind_by_host_path_and_what_an_archive_holds(kind: str, urls: list[str]) -> None:
    assert {url: detect_kind(url) for url in urls} == dict.fromkeys(urls, kind)
    assert all(is_wikipedia_url(url) is (kind == "wikipedia") for url in urls)


@pytest.mark.parametrize(
    ("locator", "seconds"),
    [("03:41", 221), ("1:02:03", 3723), ("at 3:41-4:10", 221), ("3m41s", 221), ("221 s", 221), ("1h 2m", 3720),
     ("90:00", 5400), ("03:75", None), ("1:75:00", None), ("third scene", None), ("", None), ("1.5s", None)],
)  # fmt: skip
def test_seconds_in_a_locator(locator: str, seconds: int | None) -> None:
    assert seconds_in(locator) == seconds


@pytest.mark.parametrize(
    ("locator", "page"),
    [("p. 12", 12), ("12", 12), ("pp. 12–15", 12), ("Page 7, table 2", 7), ("第12页", 12), ("S. 3", 3), ("12-15", 12),
     ("table 2", None), ("map 12", None), ("", None), ("sheep 3", None)],
)  # fmt: skip
def test_page_in_a_locator(locator: str, page: int | None) -> None:
    assert page_in(locator) == page


@pytest.mark.parametrize(
    ("url", "kind", "locator", "link"),
    [
        ("https://e.org/a.pdf", "pdf", "p. 12", "https://e.org/a.pdf#page=12"),
        ("https://e.org/a.pdf#page=3", "pdf", "p. 12", ""),
        ("https://e.org/a.pdf", "pdf", "annex", ""),
        ("https://www.youtube.com/watch?v=x", "video", "03:41", "https://www.youtube.com/watch?v=x&t=221s"),
        ("https://youtu.be/x", "video", "03:41", "https://youtu.be/x?t=221s"),
        ("https://youtu.be/x?t=1", "video", "03:41", ""),
        ("https://www.bilibili.com/video/B?p=2", "video", "03:41", "https://www.bilibili.com/video/B?p=2&t=221"),
        ("https://vimeo.com/1", "video", "0:05", "https://vimeo.com/1#t=5s"),
        ("https://e.org/a.mp3", "audio", "1:00", "https://e.org/a.mp3#t=60"),
        ("javascript:alert(1)", "pdf", "12", ""),
        ("https://u:p@e.org/a.pdf", "pdf", "12", ""),
        ("https://e.org/a", "web", "p. 12", ""),
    ],
)
def test_deep_link_opens_the_place(url: str, kind: str, locator: str, link: str) -> None:
    assert deep_link(url, kind, locator) == link


def test_deep_link_of_a_quote_is_a_text_fragment() -> None:
    assert deep_link("https://e.org/a", "web", "", "“A well-known bridge”") == (
        "https://e.org/a#:~:text=A%20well%2Dknown%20bridge"
    )
    long = "It was built between 1882 and 1890 by Sir William Arrol of Glasgow and has carried trains ever since then"
    assert deep_link("https://e.org/a", "web", "", long).endswith(
        "#:~:text=It%20was%20built%20between,trains%20ever%20since%20then"
    )
    assert deep_link("https://e.org/a", "web", "", "short") == ""


def test_locator_problem_is_gentle() -> None:
    assert locator_problem("video", "third scene") == "time"
    assert locator_problem("video", "03:41") is None
    assert locator_problem("pdf", "at the end") == "page"
    assert locator_problem("pdf", "annex 2") is None
    assert locator_problem("video", " ") is locator_problem("web", "anywhere") is None


@pytest.mark.parametrize(
    ("text", "found", "skipped"),
    [
        ("https://a.org/1\nhttps://a.org/2\n", [("https://a.org/1", ""), ("https://a.org/2", "")], 0),
        ("See https://a.org/1, and (https://a.org/2).", [("https://a.org/1", ""), ("https://a.org/2", "")], 0),
        ("[The title](https://a.org/x_(y) \"more\") and more", [("https://a.org/x_(y)", "The title")], 0),
        ("- [One](https://a.org/1)\n2. [Two [2]](<https://a.org/2>)",
         [("https://a.org/1", "One"), ("https://a.org/2", "Two [2]")], 0),
        ("The title\thttps://a.org/1\t2020", [("https://a.org/1", "The title")], 0),
        ("https://a.org/1\tThe title", [("https://a.org/1", "The title")], 0),
        ("1\thttps://a.org/1\tThe title", [("https://a.org/1", "The title")], 0),
        ("The title - https://a.org/1", [("https://a.org/1", "The title")], 0),
        ("The title | https://a.org/1", [("https://a.org/1", "The title")], 0),
        ("说明：https://a.org/路，其他", [("https://a.org/路", "")], 0),
        ("https://a.org/wiki/A_(b)", [("https://a.org/wiki/A_(b)", "")], 0),
        ("https://a.org/1 https://a.org/1", [("https://a.org/1", ""), ("https://a.org/1", "")], 0),
        ("www.a.org/1\na.org/2\njavascript:alert(1)",
         [("www.a.org/1", ""), ("a.org/2", ""), ("javascript:alert(1)", "")], 0),
        ("nothing here\n\nnor here\nhttps://a.org/1", [("https://a.org/1", "")], 2),
        ("", [], 0),
    ],
)  # fmt: skip
def test_read_addresses_finds_each_with_its_title(text: str, found: list[tuple[str, str]], skipped: int) -> None:
    pasted = read_addresses(text)
    assert (pasted.found, len(pasted.skipped)) == (found, skipped)


def test_read_addresses_stops_at_its_limit_and_says_so() -> None:
    pasted = read_addresses("\n".join(f"https://a.org/{n}" for n in range(MAX_PASTED + 5)))
    assert (len(pasted.found), len(pasted.skipped)) == (MAX_PASTED, 5)
