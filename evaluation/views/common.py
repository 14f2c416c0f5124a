"""What the pages of evaluation share."""

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from evaluation.forms import add_problems
from lhdr_site.shared.errors import Invalid


def carry_out(form: forms.BaseForm, act: Callable[[], Any]) -> Any | None:
    """What the action returns, or None with its objections on the form. Refusals and conflicts pass through."""
    try:
        return act()
    except Invalid as error:
        add_problems(form, error)
        return None


def person(request: HttpRequest) -> User:
    """Who asks: every page here needs a log-in."""
    return cast(User, request.user)


def run_tabs(benchmark: Benchmark) -> list[dict[str, Any]]:
    """The lists of this app, as `{% tabs %}` takes them."""
    names = (
        ("runs", _("Runs"), "evaluation:run-list"),
        ("studies", _("Studies"), "evaluation:study-list"),
        ("systems", _("Systems"), "evaluation:system-list"),
        ("judges", _("Judges"), "evaluation:judge-list"),
        ("endpoints", _("Endpoints"), "evaluation:endpoint-list"),
        ("prompts", _("Prompts"), "evaluation:prompt-list"),
        ("modes", _("Failure modes"), "evaluation:taxonomy-list"),
        ("marking", _("Marking"), "evaluation:plan-list"),
        ("ledger", _("Exposure"), "evaluation:ledger"),
    )
    return [{"name": n, "label": label, "url": reverse(url, args=[benchmark.slug])} for n, label, url in names]
