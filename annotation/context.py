"""What every page's frame needs: the benchmark in view, one's role there, and the benchmarks one may switch to."""

from typing import Any

from django.http import HttpRequest

from .benchmarks import my_benchmarks, role_of


def workbench(request: HttpRequest) -> dict[str, Any]:
    if not getattr(request, "user", None) or not request.user.is_authenticated or getattr(request, "htmx", False):
        return {}
    benchmarks = list(my_benchmarks(request.user).only("slug", "name", "is_demo", "preset"))
    match = getattr(request, "resolver_match", None)
    slug = match.kwargs.get("slug") if match else None
    current = next((b for b in benchmarks if b.slug == slug), None)
    return {
        "my_benchmarks": benchmarks,
        "benchmark": current,
        "membership_role": role_of(request.user, current) if current else None,
        "theme": request.COOKIES.get("theme", ""),
    }
