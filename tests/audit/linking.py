"""For tests of the link check: a local server of pages, items with sources, and the worker's turn."""

from typing import Any

from annotation.models import Item
from audit import link_steps
from audit.link_actions import ask_checks
from audit.link_queries import links_of
from tests.audit.judging import fresh
from tests.documents import good_document
from tests.factories import Team
from tests.shared.test_address_guard import Server


class Pages(Server):
    """/page says `text`; /403 and so on answer so; `robots` is its robots.txt."""

    text = "The bridge was rebuilt in 1889 by two brothers."
    robots = ""
    head = 200
    pdfs: dict[str, bytes] = {}

    def answer(self, handler: Any) -> None:
        name = handler.path.strip("/")

        def send(status: int, body: str | bytes, kind: str = "text/html; charset=utf-8") -> None:
            body = body.encode() if isinstance(body, str) else body
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body)

        if name == "robots.txt":
            send(int(self.robots) if self.robots.isdecimal() else 200, self.robots, "text/plain")
        elif handler.command == "HEAD" and self.head != 200:
            send(self.head, "")
        elif name.startswith("page"):
            send(200, f"<title>A page</title><p>{self.text}</p>")
        elif name == "wall":
            send(200, "<title>Just a moment...</title><p>Enable JavaScript and cookies to continue")
        elif name == "soft":
            send(200, "<title>Page not found</title>")
        elif name.endswith(".pdf"):
            send(200, self.pdfs[name], "application/pdf")
        elif name == "film":
            send(200, "x", "video/mp4")
        elif name.isdigit():
            send(int(name), "no")
        else:
            super().answer(handler)


def item_of(team: Team, *urls: str, quote: str = "", **options: Any) -> Item:
    sources = [{"key": f"s{n}", "url": url, "claim": "c", "quote": quote} for n, url in enumerate(urls, 1)]
    keys = {source["key"] for source in sources}

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            named = ("sources", "answer_sources")
            return {k: [s for s in v if s in keys] if k in named else kept(v) for k, v in value.items()}
        return [kept(entry) for entry in value] if isinstance(value, list) else value

    document = good_document().to_json()
    changes = {name: kept(document[name]) for name in ("nodes", "relations", "checklist", "rivals")}
    uid = f"links-{Item.objects.count()}"
    return team.item(good_document(id=uid, sources=sources, answer_sources=["s1"], **changes), **options)


def check(item: Item, *sources: str, team: Team) -> dict[str, Any]:
    """Have links checked and let the worker do it; what is known then."""
    ask_checks(item, sources, actor=team.ann)
    for host in link_steps.waiting_hosts(9):
        link_steps.check_host(host)
    return links_of(fresh(item))


def asked(server: Pages) -> list[str]:
    return [f"{method} {path}" for method, path, *_rest in server.seen]
