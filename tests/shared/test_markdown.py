"""Markdown as safe HTML: nothing active survives, what people type is shown, wide tables scroll."""

import pytest

from lhdr_site.shared.markdown import render_markdown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        '<a href="https://x.example" onclick="alert(1)">x</a>',
        '<p style="position:fixed">x</p>',
        "<img src=x onerror=alert(1)>",
        "<iframe src=https://x.example></iframe>",
        "![x](https://x.example/track.png)",
        "<table class=x tabindex=9><tr><td onclick=alert(1)>x</td></tr></table>",
    ],
)
def test_render_markdown_of_active_content_leaves_only_text(text: str) -> None:
    html = str(render_markdown(text)).replace("&lt;", "")
    for active in ("<script", "javascript:", "data:", 'onclick="', "style=", "<img", "<iframe", 'tabindex="9'):
        assert active not in html


@pytest.mark.parametrize("text", ["a < b", "List<int>", "the <entity> here", "`<b>`"])
def test_render_markdown_keeps_what_only_looks_like_a_tag(text: str) -> None:
    assert text.strip("`").replace("<", "&lt;").replace(">", "&gt;") in render_markdown(text)


def test_render_markdown_links_tell_nobody_and_lend_no_rank() -> None:
    assert 'rel="noopener noreferrer nofollow"' in render_markdown("[x](https://x.example)")


def test_render_markdown_breaks_lines_as_typed_or_lets_them_flow() -> None:
    assert render_markdown("a\nb") == "<p>a<br>\nb</p>"
    assert render_markdown("a\nb", line_breaks=False) == "<p>a\nb</p>"


def test_render_markdown_puts_each_table_into_a_box_that_scrolls_by_keyboard() -> None:
    html = render_markdown("| a |\n| --- |\n| 1 |\n\ntext\n\n| b |\n| --- |\n| 2 |")
    box = '<div class="wb-scroll" tabindex="0" role="group" aria-label="Table"><table>'
    assert html.count(box) == html.count("</table></div>") == 2
