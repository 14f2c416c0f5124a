"""Markdown as safe HTML: nothing active survives, what people type is shown, elements of an item stand in it."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lhdr_site.shared.markdown import Target, render_markdown

LINKS = {
    "n3": Target("#node-n3", "Node", 'The "Tower" <of> five', "storeys: 5"),
    "s1": Target("#source-s1", "Source", "A page", "What it says", "https://a.example/page"),
    "s2": Target("#source-s2", "Source", "Another", "", "javascript:alert(1)"),
    "i1": Target("#image-i1", "Image", "A bridge", "", "", "/small", "/whole"),
    "i2": Target("#image-i2", "Image", "Not stored"),
}
TAGS = set(
    "a abbr b blockquote br code dd del dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre s span strong sub sup"
    " div table tbody td th thead tr ul".split()
)
ATTRIBUTES = {
    "a": {"href", "title", "rel", "class", "target", "data-zoom"},
    "abbr": {"title"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "img": {"src", "alt", "loading"},
    "ol": {"start"},
    "span": {"class", "data-ref", "data-picture"},
    "td": {"align"},
    "th": {"align"},
}
# Everything after one of these runs or loads in some browser, were it not made inert.
HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=https://x.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<<script>alert(1)//<</script>",
    "<script\n>alert(1)</script >",
    "<style>@import 'https://x.example'</style>",
    "<link rel=stylesheet href=https://x.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://x.example'>",
    "<base href=https://x.example/>",
    "<iframe src=https://x.example></iframe>",
    "<object data=https://x.example></object><embed src=https://x.example>",
    "<form action=https://x.example><input name=x><button>y</button></form>",
    "<img src=x onerror=alert(1)>",
    "<img src='https://x.example/track.png'>",
    "<IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\">",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<video src=x onerror=alert(1)></video><audio src=x autoplay>",
    "<details open ontoggle=alert(1)>x</details>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<textarea><img src=x onerror=alert(1)></textarea>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?php echo 1 ?><img src=x onerror=alert(1)>",
    '<a href="https://x.example" onclick="alert(1)">x</a>',
    "<a href=' javascript:alert(1)'>x</a>",
    '<a href="java\tscript:alert(1)">x</a>',
    '<a href="&#106;&#x61;vascript:alert(1)">x</a>',
    "<a href=vbscript:x>x</a>",
    "<b onmouseover=alert(1)>x</b>",
    '<p style="position:fixed;inset:0">x</p>',
    '<p class="wb-top" id="main">x</p>',
    '<table class=x tabindex=9><tr><td onclick=alert(1) background="javascript:x">x</td></tr></table>',
    '<ul>\n<li onclick=alert(1)><script>alert(1)</script></li>\n</ul>',
    "<p>\n<img src=x onerror=alert(1)>\n</p>",
    "<span data-picture='i1' onclick=alert(1)>x</span>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](java\\script:alert(1))",
    "[x]( javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    '[x](https://x.example "a\\" onmouseover=\\"alert(1)")',
    '[x](https://x.example\' onclick="alert(1)")',
    "[x][1]\n\n[1]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![x](https://x.example/track.png)",
    "![x](//x.example/track.png)",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    '![x" onerror="alert(1)](i1)',
    "![x](i1\" onerror=\"alert(1))",
    "![<img src=x onerror=alert(1)>](i1)",
    "[![x](javascript:alert(1))](javascript:alert(1))",
    "[[n3]]<script>alert(1)</script>",
    "[[n3\"onclick=alert(1)]]",
    "[[s2]]",
    "`<img src=x onerror=alert(1)>`<img src=x onerror=alert(1)>`",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "```html onload=alert(1)\nx\n```",
    "x {: onclick=alert(1) }",
    "<div markdown=1>*x*<script>alert(1)</script></div>",
    "*[x]: <img src=x onerror=alert(1)>\nx",
    "x[^1]\n\n[^1]: <script>alert(1)</script>",
    "\x02wzxhzdk:0\x03<script>alert(1)</script>",
]  # fmt: skip


class Reader(HTMLParser):
    """Collects what is wrong with HTML: tags, attributes and addresses that no page may have from a text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.wrong += [tag] * (tag not in TAGS)
        for name, value in attrs:
            if name not in ATTRIBUTES.get(tag, ()):
                self.wrong.append(f"{tag} {name}")
            if name == "src" and value not in ("/small", "/whole"):
                self.wrong.append(f"{name}={value}")
            # as a browser reads it: tabs and line ends do not count, nor does what is no character at its start
            scheme = re.match(r"[\x00-\x20]*([a-z][a-z0-9+.-]*):", re.sub(r"[\t\n\r]", "", value or ""), re.I)
            if name == "href" and scheme and scheme[1].lower() not in ("http", "https", "mailto"):
                self.wrong.append(f"{name}={value}")
            if name in ("class", "data-zoom") and value and not re.fullmatch(r"(wb-[\w-]+ ?)+", value):
                self.wrong.append(f"{name}={value}")

    def handle_decl(self, decl: str) -> None:
        self.wrong.append(decl)

    def handle_comment(self, data: str) -> None:
        self.wrong.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("links", [None, LINKS], ids=["plain", "item"])
def test_render_markdown_of_hostile_text_leaves_nothing_active(text: str, links: dict[str, Target] | None) -> None:
    for placed in (text, f"a {text} b", f"- {text}", f"> {text}", f"| a |\n| --- |\n| {text} |", f"**{text}**"):
        assert read(render_markdown(placed, links=links)).wrong == []


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*HOSTILE, "[[i1]]", "\n\n", "`", "*", "    ", "![", "](", "<b>", "</b>"]), max_size=6))
def test_render_markdown_of_any_mixture_leaves_nothing_active(parts: list[str]) -> None:
    assert read(render_markdown("".join(parts), links=LINKS)).wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "a < b", "a<b and c>d", "x <- y", "if (a<b && b>c)", "List<int>", "Map<String, List<int>>", "the <entity> here",
        "<entity>", "<n1> → <n2>", "<your name>", "vector<b> x", "std::vector<i>", "</b> alone", "<p> without an end",
        "<script> is a tag", "<!-- a remark --> stays", "<!doctype html>", "<?xml version='1.0'?>", "<>",
        "<3", "1 <2> 3",
        "- item\n\n    <entity> in it", "> <entity>", "[[n3]]", "[[ n3 ]]", "[n3]", "AT&T &c.", "a & b < c",
    ],
)  # fmt: skip
def test_render_markdown_keeps_what_only_looks_like_a_tag(text: str) -> None:
    shown = read(render_markdown(text)).text
    assert re.sub(r"[\s>-]+", "", shown) == re.sub(r"[\s>-]+", "", text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`<b> & [[n3]]`", "<code>&lt;b&gt; &amp; [[n3]]</code>"),
        ("``a `<b>` c``", "<code>a `&lt;b&gt;` c</code>"),
        ("    List<int> x", "<pre><code>List&lt;int&gt; x\n</code></pre>"),
        ("~~~\n<entity>\n~~~", "<pre><code>&lt;entity&gt;\n</code></pre>"),
        ("```\na < b && c\n```", "<pre><code>a &lt; b &amp;&amp; c\n</code></pre>"),
        ("<code>List<int></code>", "<code>List&lt;int&gt;</code>"),
    ],
)
def test_render_markdown_shows_code_as_it_was_typed(text: str, html: str) -> None:
    assert html in render_markdown(text, links=LINKS)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("H<sub>2</sub>O", "H<sub>2</sub>O"),
        ("a<br>b<BR/>c", "a<br>b<br>c"),
        ("<b>one</b> and <em>two</em>", "<b>one</b> and <em>two</em>"),
        ("<kbd>Ctrl</kbd>", "<kbd>Ctrl</kbd>"),
        ("<ul>\n<li>a<ul><li>b</li></ul></li>\n</ul>", "<ul>\n<li>a<ul><li>b</li></ul></li>\n</ul>"),
        ("<table>\n<tr><td>1 < 2 <x></td></tr>\n</table>", "<td>1 &lt; 2 &lt;x&gt;</td>"),
        ("<https://a.example/b>", '<a href="https://a.example/b" rel="noopener noreferrer nofollow">'),
    ],
)
def test_render_markdown_keeps_harmless_tags(text: str, html: str) -> None:
    assert html in render_markdown(text)


def test_render_markdown_links_tell_nobody_and_lend_no_rank() -> None:
    assert 'rel="noopener noreferrer nofollow"' in render_markdown("[x](https://x.example)")


def test_render_markdown_breaks_lines_as_typed_or_lets_them_flow() -> None:
    assert render_markdown("a\nb") == "<p>a<br>\nb</p>"
    assert render_markdown("a\nb", line_breaks=False) == "<p>a\nb</p>"


def test_render_markdown_puts_each_table_into_a_box_that_scrolls_by_keyboard() -> None:
    html = render_markdown("| a |\n| --- |\n| 1 |\n\ntext\n\n| b |\n| --- |\n| 2 |")
    box = '<div class="wb-scroll" tabindex="0" role="group" aria-label="Table"><table>'
    assert html.count(box) == html.count("</table></div>") == 2


# --- elements of an item ------------------------------------------------------------------------------------------


def test_key_in_double_brackets_is_a_link_with_a_card() -> None:
    html = render_markdown("See [[n3]].", links=LINKS)
    assert '<a class="wb-key" href="#node-n3">n3</a>' in html
    assert "The &quot;Tower&quot; &lt;of&gt; five" in html
    assert "storeys: 5" in html
    html = render_markdown("[[s1]]", links=LINKS)
    assert 'href="https://a.example/page" rel="noopener noreferrer nofollow" target="_blank"' in html


def test_key_that_no_element_has_is_marked() -> None:
    for text in ("[[n9]]", "a [[n9]] b", "![words](i9)"):
        html = render_markdown(text, links=LINKS)
        assert "no such element" in html
    assert "words" in html


def test_picture_of_the_item_is_shown_and_that_of_another_host_is_a_link() -> None:
    html = render_markdown("![A *bridge*](i1)", links=LINKS)
    assert '<a href="/whole" data-zoom><img src="/small" alt="A *bridge*" loading="lazy"></a>' in html
    assert '<img src="/small" alt="A bridge"' in render_markdown("[[i1]]", links=LINKS)  # alone in its paragraph
    assert "wb-figure" not in render_markdown("As [[i1]] shows", links=LINKS)
    assert "<img" not in render_markdown("![x](i2)", links=LINKS)
    assert '<a href="https://x.example/y.png"' in render_markdown("![y](https://x.example/y.png)", links=LINKS)


def test_key_inside_a_link_stays_text() -> None:
    html = render_markdown("[see [[n3]] and ![p](i1)](https://x.example)", links=LINKS)
    assert html.count("<a ") == 1
    assert read(html).text.strip() == "see [[n3]] and p"
