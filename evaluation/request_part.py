"""What the form of a system or judge shows of the request that it would make: presets, preview, what may mislead."""

import json
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from annotation.benchmarks import Benchmark
from lhdr_site.endpoints.bodies import chat_body
from lhdr_site.endpoints.models import Endpoint
from lhdr_site.shared.numbers import read_whole

from .forms import ConfigurationForm, ObjectField
from .queries import asked_systems_of, model_judges_of
from .requests import refusing_collection
from .routes import PRESETS, route_warnings, service_of


def read_extra(text: Any) -> tuple[dict[str, Any] | None, str]:
    """Extra request fields as typed (or an object), and what is wrong with them."""
    if isinstance(text, dict):
        return text, ""
    try:
        return dict(ObjectField().clean(text)), ""
    except forms.ValidationError as error:
        return None, " ".join(error.messages)


def request_part(benchmark: Benchmark, form: ConfigurationForm, tab: str) -> dict[str, Any]:
    """presets by service, the endpoint's own first; preview and warnings, where an endpoint is chosen."""
    endpoint = _endpoint(benchmark, form["endpoint"].value())
    model, family = str(form["model"].value() or ""), str(form["family"].value() or "").strip()
    fields, problem = read_extra(form["extra_body"].value() or "")
    groups: dict[str, list[Any]] = {str(service_of(endpoint.base_url, endpoint.wire)): []} if endpoint else {}
    for preset in PRESETS:
        groups.setdefault(str(preset.service), []).append(preset)
    found: dict[str, Any] = {"presets": groups, "extra_problem": problem, "preview": "", "warnings": []}
    if endpoint is not None and fields is not None:
        text = _("(the question, word for word)") if tab == "systems" else _("(the prompt, filled in)")
        body = refusing_collection(endpoint.base_url, chat_body(endpoint.wire, model, text, extra=fields))
        found["preview"] = json.dumps(body, indent=2, ensure_ascii=False)
        images = str(form["image_mode"].value() or "") if tab == "systems" else ""
        found["warnings"] = [str(w) for w in route_warnings(endpoint.base_url, model, fields, images=images)]
    found["warnings"] += kin_warnings(benchmark, family, tab)
    return found


def kin_warnings(benchmark: Benchmark, family: str, tab: str) -> list[str]:
    rows = model_judges_of(benchmark) if tab == "systems" else asked_systems_of(benchmark)
    names = ", ".join(rows.filter(family__iexact=family).values_list("name", flat=True)) if family else ""
    if not names:
        return []
    if tab == "systems":
        text = _(
            "Of its own family is the judge %s, which may favour it: have a judge of another family mark its answers."
        )
    else:
        text = _("Of its own family is %s, which it may favour: have a judge of another family mark those answers.")
    return [text % names]


def _endpoint(benchmark: Benchmark, value: Any) -> Endpoint | None:
    if isinstance(value, Endpoint):
        return value
    return benchmark.endpoints.filter(pk=read_whole(str(value or "")) or 0).first()
