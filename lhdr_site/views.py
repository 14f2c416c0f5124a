"""Pages of the installation itself."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def demo_log_ins() -> dict[str, Any]:
    """Shown on the log-in page while the demo benchmark is there."""
    from annotation.demo import DEMO_PASSWORD, DEMO_PEOPLE, demo_is_loaded

    return {"demo_logins": lambda: DEMO_PEOPLE if demo_is_loaded() else [], "demo_password": DEMO_PASSWORD}


def gallery(request: HttpRequest) -> HttpResponse:
    from .shared.gallery import gallery_context

    return render(request, "gallery.html", gallery_context())
