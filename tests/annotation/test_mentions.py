"""@names in rendered comments."""

import pytest

from annotation.mentions import names_in, with_chips
from lhdr_site.shared.markdown import render_markdown

MEMBERS = {"ada": "Ada L.", "bela.k": "Béla <K>", "cora@example.org": "Cora", "li_wei": "李伟"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@ada look", ["ada"]),
        ("(@ada), @Ada: @ADA.", ["ada"]),
        ("@bela.k. and @ada", ["bela.k", "ada"]),
        ("@cora@example.org please", ["cora@example.org"]),
        ("@li_wei 你好,@ada", ["li_wei", "ada"]),
        ("@nobody @adam a@ada x/@ada", []),
        ("`@ada` and [@ada](https://x.org)", []),
        ("```\n@ada\n```", []),
        ("*@ada*", ["ada"]),
        ("@", []),
        ("@" * 300, []),
    ],
)
def test_names_are_those_of_members_outside_code_and_links(text: str, names: list[str]) -> None:
    assert names_in(render_markdown(text), MEMBERS) == names


def test_chips_escape_names_and_leave_the_rest_alone() -> None:
    html = with_chips(render_markdown('Hi @bela.k. <b title="@ada">x</b> @nobody `@ada`'), MEMBERS)
    assert '<span class="wb-mention" title="@bela.k">@Béla &lt;K&gt;</span>.' in html
    assert html.count("wb-mention") == 1 and "@nobody" in html and "<code>@ada</code>" in html
