"""What the tests of the item's pages share: addresses, and a section's form filled as a browser would fill it."""

import re
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from annotation.models import Item

HTMX: Any = {"HTTP_HX_REQUEST": "true"}
PLAIN_AND_HTMX: tuple[Any, Any] = ({}, HTMX)


def url(item: Item, rest: str = "") -> str:
    return f"/b/{item.benchmark.slug}/items/{item.number}/{rest}"


class _Forms(HTMLParser):
    """Fields of the form with `data-section-form`, templates left out; enough HTML for our own markup."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: list[tuple[str, str]] = []
        self.inside = self.template = False
        self.area = self.select = ""
        self.text = ""
        self.chosen: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = "data-section-form" in a
        elif tag == "template":
            self.template = True
        if not self.inside or self.template:
            return
        if tag == "input" and a.get("name"):
            if a.get("type") not in ("checkbox", "radio") or "checked" in a:
                self.fields.append((a["name"], a.get("value", "")))
        elif tag == "textarea":
            self.area, self.text = a["name"], ""
        elif tag == "select" and a.get("name"):
            self.select, self.chosen = a["name"], None
        elif tag == "option" and self.select and (self.chosen is None or "selected" in a):
            self.chosen = a["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "template":
            self.template = False
        elif tag == "textarea" and self.area:
            self.fields.append((self.area, self.text.removeprefix("\n")))
            self.area = ""
        elif tag == "select" and self.select:
            self.fields.append((self.select, self.chosen or ""))
            self.select = ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.text += data


def form_fields(html: str) -> dict[str, Any]:
    """The open section form as data for `client.post`; a name that occurs twice becomes a list."""
    parser = _Forms()
    parser.feed(html)
    fields: dict[str, Any] = {}
    for name, value in parser.fields:
        if name != "csrfmiddlewaretoken":
            fields[name] = (
                [*fields[name], value]
                if isinstance(fields.get(name), list)
                else ([fields[name], value] if name in fields else value)
            )
    return fields


def open_form(client: Client, item: Item, section: str) -> dict[str, Any]:
    response = client.get(url(item, f"{section}/edit/"))
    assert response.status_code == 200
    return form_fields(response.content.decode())


def texts(html: str) -> str:
    """The words of a page, without tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
