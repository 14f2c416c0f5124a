"""Pages of the installation itself: the guide, and in DEBUG the gallery of parts."""

import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.defaults import page_not_found

from .shared.markdown import render_markdown

_DOCS = Path(settings.BASE_DIR) / "docs"
# In the order of the contents; what is not named comes after them by name.
_GUIDE_ORDER = ("index", "items", "construct", "discuss", "planning", "audit", "releases", "evaluate", "results")
_REFERENCE = ("checks", "formats", "evaluation", "commands", "api", "settings")
_LINK = re.compile(r"\]\((?:\.\./|\./|guide/)*([a-z0-9_-]+)\.md(#[^)]*)?\)")
_HEADING = re.compile(r"<h([2-4])>(.*?)</h\1>")


def demo_log_ins() -> dict[str, Any]:
    """Shown on the log-in page while the demo benchmark is there."""
    from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE, demo_is_loaded

    return {"demo_logins": lambda: DEMO_PEOPLE if demo_is_loaded() else [], "demo_password": DEMO_PASSWORD}


def gallery(request: HttpRequest) -> HttpResponse:
    from .shared.gallery import gallery_context

    return render(request, "gallery.html", gallery_context())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A page; below /api/ JSON, as of every other error there."""
    if not request.path.startswith("/api/"):
        return page_not_found(request, exception)
    text = _("There is no such address in the API; /help/api/ lists them.")
    return JsonResponse({"code": "not_found", "message": text}, status=404)


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
        return f"]({reverse('help', args=[match[1]])}{match[2] or ''})" if match[1] in served else match[0]

    order = [*(name for name in _GUIDE_ORDER if name in guide), *sorted(set(guide) - set(_GUIDE_ORDER))]
    context = {
        "page": page,
        "title": title,
        "text": _with_anchors(render_markdown(_LINK.sub(link, body), line_breaks=False)),
        "guide": [(name, _title_and_text(guide[name])[0]) for name in order],
        "reference": [(name, _title_and_text(path)[0]) for name, path in reference.items()],
    }
    return render(request, "help.html", context)


def _with_anchors(html: SafeString) -> SafeString:
    """Headings of a rendered page with the anchors that links to them name."""
    return SafeString(_HEADING.sub(lambda m: f'<h{m[1]} id="{slugify(strip_tags(m[2]))}">{m[2]}</h{m[1]}>', html))


def _title_and_text(path: Path) -> tuple[str, str]:
    """The first heading of a page, and what follows it."""
    head, _line, text = path.read_text(encoding="utf-8").partition("\n")
    return head.lstrip("# ").strip(), text
