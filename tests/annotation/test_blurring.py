"""Coarser renderings, worked by hand, and what holds for any text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.blurring import Name, blurs, names_of, read_han
from annotation.document import read_document

ROME = {"Rome": Name("place", "Italy"), "Ada Byron": Name("person"), "Rome 1960": Name("event", "Rome 1960")}


def coarser(text: str, language: str = "en") -> dict[str, list[str]]:
    return {blur.text: [r.text for r in blur.renderings] for blur in blurs(text, language, ROME)}


@pytest.mark.parametrize(
    ("text", "span", "renderings"),
    [
        # the first digit down and up, and two digits rounded
        ("in 337 rooms", "337", ["more than 300", "about 340", "fewer than 400"]),
        ("12 men", "12", ["more than 10", "about 10", "fewer than 20"]),
        ("1,234 pages", "1,234", ["more than 1,000", "about 1,200", "fewer than 2,000"]),
        ("300 left", "300", ["more than 200", "fewer than 400"]),
        ("32.18 m high", "32.18", ["more than 30", "about 30", "less than 40"]),
        ("cost $3.5 million", "$3.5", ["more than $3", "about $4", "less than $4"]),
        ("5 of them", "5", ["several"]),
        ("2 of them", "2", ["a couple of"]),
        ("48% voted", "48%", ["nearly half", "more than 40%", "less than 50%"]),
        ("33.5 % voted", "33.5 %", ["about a third", "more than 30%", "less than 40%"]),
        ("in 1887", "1887",
         ["the late 1880s", "the 1880s", "the last quarter of the 19th century", "the 19th century"]),
        ("in 1995", "1995",
         ["the mid-1990s", "the 1990s", "the last quarter of the 20th century", "the 20th century"]),
        # "the 1900s" would hold the digits of the year
        ("in 1900", "1900", ["the first quarter of the 20th century", "the 20th century"]),
        ("on 12 March 1998.", "on 12 March 1998",
         ["in March 1998", "in spring 1998", "in the late 1990s", "in the 1990s"]),
        ("on the 3rd of June, 2001", "on the 3rd of June, 2001",
         ["in June 2001", "in summer 2001", "in the early 2000s", "in the 2000s"]),
        ("December 25, 1991", "December 25, 1991",
         ["in December 1991", "in winter 1991", "in the early 1990s", "in the 1990s"]),
        ("on 1998-03-12", "on 1998-03-12", ["in March 1998", "in spring 1998", "in the late 1990s", "in the 1990s"]),
        ("12/03/1998", "12/03/1998", ["in the late 1990s", "in the 1990s"]),  # which is the month nobody knows
        ("in May 1998", "in May 1998", ["in the late 1990s", "in the 1990s"]),
        ("of the 1880s", "the 1880s", ["the last quarter of the 19th century", "the 19th century"]),
        ("in 44 BC", "44 BC", ["the 1st century BC"]),
        ("the 44th president", "the 44th", ["one of the first 50"]),
        ("the 7th", "the 7th", ["one of the first ten"]),
        ("the 19th century", "the 19th century", ["the second millennium", "the modern era"]),
        ("near Rome.", "Rome", ["a place in Italy", "a place"]),
        ("of Ada Byron", "Ada Byron", ["a person"]),
        ("at Rome 1960", "Rome 1960", ["an event"]),  # the longer name wins, and its own name helps nobody
    ],
)  # fmt: skip
def test_blurs_of_english(text: str, span: str, renderings: list[str]) -> None:
    assert coarser(text) == {span: renderings}


@pytest.mark.parametrize(
    ("text", "span", "renderings"),
    [
        ("建于1998年3月5日的桥", "1998年3月5日", ["1998年3月", "1998年春天", "20世纪90年代末", "20世纪90年代"]),
        ("一九九八年三月五日", "一九九八年三月五日", ["1998年3月", "1998年春天", "20世纪90年代末", "20世纪90年代"]),
        ("在1887年", "1887年", ["19世纪80年代末", "19世纪80年代", "19世纪下半叶", "19世纪"]),
        ("在2005年", "2005年", ["21世纪头十年中期", "21世纪头十年", "21世纪上半叶", "21世纪"]),
        ("长337米", "337", ["300多", "约340", "不到400"]),
        ("三百三十七人", "三百三十七", ["三百多", "不到四百"]),
        ("二十三人", "二十三", ["二十多", "不到三十"]),
        ("占48%", "48%", ["近一半", "超过40%", "不到50%"]),
        ("在Rome附近", "Rome", ["Italy的某个地方", "某个地方"]),
    ],
)
def test_blurs_of_chinese(text: str, span: str, renderings: list[str]) -> None:
    assert coarser(text, "zh-Hans") == {span: renderings}


def test_blurs_of_other_languages_need_no_words() -> None:
    assert coarser("Rome 1887 hatte 337 am 12.03.1998", "de") == {
        "1887": ["1880–1889", "1800–1899"],
        "337": ["> 300", "≈ 340", "< 400"],
        "12.03.1998": ["1990–1999", "1900–1999"],
    }


def test_blurs_leave_alone_what_is_no_number_or_name() -> None:
    for text in (
        "",
        "B52 and x86_64",
        "Romeo",
        "version 1.2.3",
        "1 of 0",
        "十分一般",
        "一座桥",
        "no. 12345678901234567890",
    ):
        assert coarser(text, "zh" if "一" in text else "en") == {}, text


def test_blurs_say_where_the_answer_still_stands() -> None:
    (blur,) = blurs("on 12 March 1998", "en", {}, ["1998", " "])
    assert [r.holds_answer for r in blur.renderings] == [True, True, False, False]
    (blur,) = blurs("337", "en", {}, ["30", "Fewer  than 400"])
    assert [r.holds_answer for r in blur.renderings] == [False, False, True]  # 30 is no part of 300


def test_names_of_graph_take_where_they_are_from_their_properties() -> None:
    nodes = [
        {"key": "n1", "entity": "Rome", "aliases": ["Roma", "R"], "kind": "place",
         "properties": [{"name": "height", "value": "20 m"}, {"name": " Country", "value": "Italy"}]},
        {"key": "n2", "entity": " ", "kind": None},
        {"key": "n3", "entity": "Roma", "kind": "work"},
    ]  # fmt: skip
    names = names_of(read_document({"id": "x", "nodes": nodes}))
    assert names == {"Rome": Name("place", "Italy"), "Roma": Name("place", "Italy")}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("三百三十七", 337),
        ("十二", 12),
        ("两万", 20_000),
        ("一万零五", 10_005),
        ("一九九八", 1998),
        ("千", 1000),
        ("", None),
        ("三a", None),
    ],
)  # fmt: skip
def test_read_han(text: str, number: int | None) -> None:
    assert read_han(text) == number


PIECES = [
    *(
        "1998",
        "337",
        "12",
        "3",
        "0",
        "March",
        "5",
        "年",
        "月",
        "日",
        "三百",
        "十",
        "一九九八",
        "万",
        "%",
        ",",
        ".",
        "-",
    ),
    *(" ", "$", "the ", "BC", "th", "s", "century", "Rome", "Rome 1960", "\n", "😀", "İ", "٣", "²"),
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12).map("".join),
    st.sampled_from(["en", "zh", "de", "", "zh_TW", "?"]),
    st.lists(st.sampled_from(PIECES), max_size=2),
)
def test_blurs_of_any_text_are_in_range_apart_and_without_its_digits(
    text: str, language: str, answers: list[str]
) -> None:
    end = 0
    for blur in blurs(text, language, ROME, answers):
        assert end <= blur.start < blur.end <= len(text)
        assert text[blur.start : blur.end] == blur.text
        end = blur.end
        assert 1 <= len(blur.renderings) <= 4
        digits = "".join(re.findall("[0-9]", blur.text))
        for rendering in blur.renderings:
            assert rendering.text.strip() and rendering.text != blur.text
            assert not digits or digits not in "".join(re.findall("[0-9]", rendering.text))
