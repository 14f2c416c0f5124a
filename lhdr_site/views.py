"""Pages of the installation itself: the guide, and in DEBUG the gallery of parts."""

import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from .shared.markdown import render_markdown

_DOCS = Path(settings.BASE_DIR) / "docs"
# In the order of the contents; what is not named comes after them by name.
_GUIDE_ORDER = ("index", "items", "construct", "audit", "releases", "evaluate", "results")
_REFERENCE = ("checks", "formats", "evaluation", "commands", "api", "settings")
_LINK = re.compile(r"\]\((?:\.\./|\./|guide/)*([a-z0-9_-]+)\.md(?:#[^)]*)?\)")


def demo_log_ins() -> dict[str, Any]:
    """Shown on the log-in page while the demo benchmark is there."""
    from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE, demo_is_loaded

    return {"demo_logins": lambda: DEMO_PEOPLE if demo_is_loaded() else [], "demo_password": DEMO_PASSWORD}


def gallery(request: HttpRequest) -> HttpResponse:
    from .shared.gallery import gallery_context

    return render(request, "gallery.html", gallery_context())


def help_page(request: HttpRequest, page: str = "index") -> HttpResponse:
    """A page of docs/guide, or one of the reference pages of docs/, with the contents beside it."""
    guide = {path.stem: path for path in _DOCS.glob("guide/*.md")}
    reference = {name: _DOCS / f"{name}.md" for name in _REFERENCE if (_DOCS / f"{name}.md").exists()}
    path = guide.get(page) or reference.get(page)
    if path is None:
        raise Http404
    title, body = _title_and_text(path)
    served = guide.keys() | reference.keys()

    def link(match: re.Match[str]) -> str:
        return f"]({reverse('help', args=[match[1]])})" if match[1] in served else match[0]

    order = [*(name for name in _GUIDE_ORDER if name in guide), *sorted(set(guide) - set(_GUIDE_ORDER))]
    context = {
        "page": page,
        "title": title,
        "text": render_markdown(_LINK.sub(link, body), line_breaks=False),
        "guide": [(name, _title_and_text(guide[name])[0]) for name in order],
        "reference": [(name, _title_and_text(path)[0]) for name, path in reference.items()],
    }
    return render(request, "help.html", context)


def _title_and_text(path: Path) -> tuple[str, str]:
    """The first heading of a page, and what follows it."""
    head, _line, text = path.read_text(encoding="utf-8").partition("\n")
    return head.lstrip("# ").strip(), text
