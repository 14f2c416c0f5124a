"""Forms of evaluation: systems, judges, launching a run, judging again, a person's own verdict.

They check what can be said beside a field; the actions check again and have the last word.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.benchmarks import Benchmark
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.fields import ManyField

from .models import Judge, Run, System
from .queries import model_judges_of, releases_of

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
NOT_IN_EXTRA = ("model", "messages")

# What people most often add to a request, as (label, value).
PRESETS = (
    (
        gettext_lazy("Web search through OpenRouter"),
        {"tools": [{"type": "openrouter:web_search", "parameters": {"engine": "native"}}]},
    ),
    (gettext_lazy("Web search of OpenAI"), {"tools": [{"type": "web_search"}]}),
)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """Every name and text in a JSON value. Raises ValueError below fifty levels."""
    if depth > 50:
        raise ValueError("too deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("1e999 is no constant, and infinite all the same")
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        if isinstance(value, dict):
            yield from value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner, depth + 1)


class ObjectField(forms.CharField):
    """A JSON object as text. Nothing typed is {}. What was typed stays in the field when it is refused."""

    widget = forms.Textarea

    def __init__(self, *, forbidden: Iterable[str] = (), **kwargs: Any):
        self.forbidden = tuple(forbidden)
        super().__init__(**{"required": False, "strip": True, "max_length": 20_000, **kwargs})

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict) and value else value or ""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return {}
        try:
            data = json.loads(text, parse_constant=_refuse)
            storable = not any(_UNSTORABLE.search(part) for part in _texts(data))
        except json.JSONDecodeError as error:
            raise forms.ValidationError(
                _("This is no JSON: %(why)s in line %(line)d, column %(column)d.")
                % {"why": error.msg, "line": error.lineno, "column": error.colno}
            ) from None
        except (ValueError, RecursionError):
            raise forms.ValidationError(_("NaN, infinity and very deep nesting cannot be sent; remove them.")) from None
        if not isinstance(data, dict):
            raise forms.ValidationError(_('Write an object in braces, like {"temperature": 0}.'))
        if not storable:
            raise forms.ValidationError(_("It holds a character that cannot be stored (NUL or a lone surrogate)."))
        if taken := [name for name in self.forbidden if name in data]:
            raise forms.ValidationError(
                _("The Workbench sets %(names)s itself; remove it.") % {"names": ", ".join(taken)}
            )
        return data

    def has_changed(self, initial: Any, data: Any) -> bool:
        return True


class ConfigurationForm(forms.ModelForm):
    """What systems and judges share: an endpoint of the benchmark, and extra request fields as JSON."""

    extra_body = ObjectField(
        label=gettext_lazy("Extra request fields"),
        forbidden=NOT_IN_EXTRA,
        help_text=gettext_lazy("JSON, added to every request as it is. Empty for none."),
    )

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        endpoint = self.fields["endpoint"]
        assert isinstance(endpoint, forms.ModelChoiceField)
        endpoint.queryset = benchmark.endpoints.all()
        endpoint.label_from_instance = _endpoint_label  # type: ignore[assignment, method-assign]
        endpoint.required = True

    @property
    def presets(self) -> list[tuple[Any, str]]:
        return [(label, json.dumps(value)) for label, value in PRESETS]


def _endpoint_label(endpoint: Any) -> str:
    return f"{endpoint.name} ({_('demo: recorded answers')})" if endpoint.is_demo else str(endpoint.name)


class SystemForm(ConfigurationForm):
    class Meta:
        model = System
        fields = (
            "name",
            "group",
            "family",
            "endpoint",
            "model",
            "image_mode",
            "release_date",
            "represents_family",
            "extra_body",
            "max_tries",
            "image_max_side",
            "max_request_mb",
        )
        widgets = {"release_date": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")}
        help_texts = {
            "model": gettext_lazy("As the endpoint names it."),
            "family": gettext_lazy("The vendor or family, the same word for all its models: judges of it are marked."),
            "release_date": gettext_lazy("When the model came out; for pictures over time."),
            "represents_family": gettext_lazy("Fix this before you look at results."),
            "image_mode": gettext_lazy("Deep-research endpoints usually take an address, not data."),
        }


class JudgeForm(ConfigurationForm):
    class Meta:
        model = Judge
        fields = (
            "name",
            "family",
            "endpoint",
            "model",
            "prompt_version",
            "extra_body",
            "max_tries",
            "max_response_chars",
        )
        help_texts = {
            "model": gettext_lazy("As the endpoint names it."),
            "family": gettext_lazy("The vendor or family: it is said where a judge judges its own family."),
        }

    def __init__(self, *args: Any, prompts: Iterable[tuple[str, str]] = (), **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["model"].required = True
        self.fields["prompt_version"] = forms.ChoiceField(
            label=_("Prompt"),
            choices=list(prompts),
            help_text=_("Verdicts of one prompt version are comparable; a new version is a new judge."),
        )


class LaunchForm(forms.ModelForm):
    class Meta:
        model = Run
        fields = ("release", "system", "condition", "judges", "main_judge", "concurrency", "budget", "note")
        field_classes = {"judges": ManyField}
        widgets = {"judges": forms.CheckboxSelectMultiple, "note": forms.Textarea}
        help_texts = {
            "release": gettext_lazy("Its item count is the denominator, whatever fails."),
            "condition": gettext_lazy("Without image, the question is sent alone: for the image ablation."),
            "main_judge": gettext_lazy("Whose verdicts the results show first."),
            "concurrency": gettext_lazy("The endpoint's own limit holds besides, over all runs."),
            "budget": gettext_lazy("The run stops when the known cost reaches it. Empty for no limit."),
        }

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        judges = model_judges_of(benchmark)
        self._among("release", releases_of(benchmark), _release_label)
        self._among("system", System.objects.filter(benchmark=benchmark).select_related("endpoint"), _model_label)
        self._among("judges", judges, _model_label)
        self._among("main_judge", judges, _model_label)
        self.fields["main_judge"].required = False
        self.fields["main_judge"].help_text = _("Whose verdicts the results show first; the first one ticked if empty.")
        self.fields["condition"].initial = "with_image"

    def _among(self, name: str, rows: Any, label: Callable[[Any], str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = rows
        field.label_from_instance = label  # type: ignore[assignment, method-assign]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        judges, main = list(data.get("judges") or []), data.get("main_judge")
        if judges and main is None:
            data["main_judge"] = judges[0]
        elif judges and main not in judges:
            self.add_error("main_judge", _("Tick the main judge among the judges as well."))
        return data

    @property
    def warnings(self) -> list[str]:
        """What to think about before launching; empty unless the form is valid."""
        if not self.is_valid():
            return []
        data, found = self.cleaned_data, []
        if kin := same_family(data["system"], data["judges"]):
            found.append(
                _("%(judges)s and the system are of one family, %(family)s: a model may favour its own kin.")
                % {"judges": ", ".join(judge.name for judge in kin), "family": data["system"].family}
            )
        if not data["release"].audited:
            found.append(
                _("Release %(name)s is not audited: its results are for trying out.") % {"name": data["release"]}
            )
        if data["condition"] == "with_image" and data["system"].image_mode == "none":
            found.append(_("The system withholds images, so “with image” would be the same as “without image”."))
        return found


def same_family(system: System, judges: Iterable[Judge]) -> list[Judge]:
    family = system.family.strip().casefold()
    return [judge for judge in judges if family and judge.family.strip().casefold() == family]


def _release_label(release: Any) -> str:
    name = _("%(name)s, %(count)d items") % {"name": release.name, "count": release.item_count}
    return name if release.audited else f"{name} ({_('not audited')})"


def _model_label(row: Any) -> str:
    details = [row.model] + ([_("demo: recorded answers")] if row.endpoint.is_demo else [])
    return f"{row.name} ({', '.join(details)})"


class RejudgeForm(forms.Form):
    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"), empty_label=None)

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        field = self.fields["judge"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = model_judges_of(benchmark)
        field.label_from_instance = _model_label  # type: ignore[assignment, method-assign]


class BudgetForm(forms.Form):
    """A higher budget for a run whose budget is used up; empty leaves it as it is."""

    budget = forms.DecimalField(
        label=gettext_lazy("New budget, USD"), min_value=0, max_digits=10, decimal_places=2, required=False
    )


def read_marks(data: Any, steps: int) -> tuple[bool, list[int]]:
    """A person's verdict out of the posted `answer` (pass, fail) and `step-1` … (yes, no).

    Raises Invalid naming every mark that is missing or unreadable.
    """
    problems = []
    if data.get("answer") not in ("pass", "fail"):
        problems.append({"path": "answer", "message": _("Say whether the final answer matches the reference.")})
    vector = []
    for number in range(1, steps + 1):
        mark = data.get(f"step-{number}")
        if mark not in ("yes", "no"):
            problems.append(
                {"path": f"step-{number}", "message": _("Step %(number)d has no mark.") % {"number": number}}
            )
        vector.append(int(mark == "yes"))
    if problems:
        raise Invalid(" ".join(problem["message"] for problem in problems), problems=problems)
    return data["answer"] == "pass", vector


def add_problems(form: forms.BaseForm, error: Invalid) -> None:
    """What an action refused, beside its fields where it names them."""
    problems = error.details.get("problems") or []
    for problem in problems:
        form.add_error(problem["path"] if problem["path"] in form.fields else None, problem["message"])
    if not problems:
        form.add_error(None, error.message)
