"""What every page's frame needs: the benchmark in view, one's role there, the benchmarks to switch to, what waits."""

from typing import Any

from django.db.models import F
from django.http import HttpRequest

from lhdr_site.shared.prepared import Prepared

from .benchmarks import Role, my_benchmarks
from .notices import open_count

_MINE = Prepared(
    lambda user: (
        my_benchmarks(user).only("slug", "name", "is_demo", "preset").annotate(my_role=F("memberships__role"))
    ),  # of the membership that makes it theirs
    "user",
)


def workbench(request: HttpRequest) -> dict[str, Any]:
    if not getattr(request, "user", None) or not request.user.is_authenticated or getattr(request, "htmx", False):
        return {}
    benchmarks = _MINE.objects(user=request.user.pk)
    match = getattr(request, "resolver_match", None)
    slug = match.kwargs.get("slug") if match else None
    current = next((b for b in benchmarks if b.slug == slug), None)
    return {
        "my_benchmarks": benchmarks,
        "benchmark": current,
        "membership_role": Role(current.my_role) if current else None,
        "open_notices": open_count(request.user),
        "theme": request.COOKIES.get("theme", ""),
    }
