"""Forms of evaluation: systems, judges, launching a run, judging again, a person's own verdict.

They check what can be said beside a field; the actions check again and have the last word.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django import forms
from django.db.models.fields import BLANK_CHOICE_DASH
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.benchmarks import Benchmark
from audit.releases import Release
from lhdr_site.endpoints.bodies import SET_BY_US
from lhdr_site.shared.errors import Invalid
from lhdr_site.shared.fields import ManyField

from .models import Condition, Group, Judge, MarkingPlan, Run, RunState, Study, System
from .queries import asked_systems_of, model_judges_of, releases_of
from .routes import RouteWarning, route_warnings

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
        forbidden=SET_BY_US,
        help_text=gettext_lazy("JSON, added to every request as it is. Empty for none."),
    )

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        endpoint = self.fields["endpoint"]
        assert isinstance(endpoint, forms.ModelChoiceField)
        endpoint.queryset = benchmark.endpoints.all()
        endpoint.label_from_instance = _endpoint_label  # type: ignore[assignment, method-assign]
        endpoint.empty_label = _("choose …")
        if "group" in self.fields:
            self.fields["group"].choices = [("", _("choose …")), *Group.choices]  # type: ignore[attr-defined]
        endpoint.required = True


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
            "prompt_price",
            "completion_price",
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
            "prompt_price",
            "completion_price",
            "max_response_chars",
        )
        help_texts = {
            "model": gettext_lazy("As the endpoint names it."),
            "family": gettext_lazy("The vendor or family: it is said where a judge judges its own family."),
            "max_response_chars": gettext_lazy(
                "Of a longer one only the end is shown, and the verdict is flagged “Response shortened”."
            ),
        }

    def __init__(self, *args: Any, prompts: Iterable[tuple[str, str]] = (), **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["model"].required = True
        self.fields["prompt_version"] = forms.ChoiceField(
            label=_("Prompt"),
            choices=list(prompts),
            help_text=_("Verdicts of one prompt version are comparable; a new version is a new judge."),
        )


class ChoosesRows(forms.BaseForm):
    """Lets fields choose among rows of the benchmark in view."""

    def among(self, name: str, rows: Any, label: Callable[[Any], str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = rows
        field.label_from_instance = label  # type: ignore[assignment, method-assign]
        if field.empty_label == BLANK_CHOICE_DASH[0][1]:
            field.empty_label = _("the first one ticked") if name == "main_judge" else _("choose …")


class JudgedForm(ChoosesRows, forms.ModelForm):
    """What runs and studies share: judges, and the main one among them, which is the first one if none is named."""

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        judges, main = list(data.get("judges") or []), data.get("main_judge")
        if judges and main is None:
            data["main_judge"] = judges[0]
        elif judges and main not in judges:
            self.add_error("main_judge", _("Tick the main judge among the judges as well."))
        return data


class LaunchForm(JudgedForm):
    class Meta:
        model = Run
        fields = (
            "release",
            "system",
            "condition",
            "judges",
            "main_judge",
            "samples",
            "repeats",
            "concurrency",
            "budget",
            "token_budget",
            "note",
        )
        field_classes = {"judges": ManyField}
        widgets = {"judges": forms.CheckboxSelectMultiple, "note": forms.Textarea}
        help_texts = {
            "release": gettext_lazy("Its item count is the denominator, whatever fails."),
            "condition": gettext_lazy("Without image, the question is sent alone: for the image ablation."),
            "main_judge": gettext_lazy("Whose verdicts the results show first."),
            "concurrency": gettext_lazy("The endpoint's own limit holds besides, over all runs."),
            "samples": gettext_lazy("How often each item is asked; scores are means over them."),
            "repeats": gettext_lazy("How often each judge judges each response: shows verdicts that flip."),
            "budget": gettext_lazy(
                "Of answers and judges together; no call starts that may exceed it. Empty for no limit."
            ),
            "token_budget": gettext_lazy("Tokens in and out, of answers and judges together. Empty for no limit."),
        }

    items = forms.CharField(
        label=gettext_lazy("Only these items"),
        required=False,
        help_text=gettext_lazy(
            "Numbers or ids, with commas between them, for a trial: it stays out of the leaderboard."
        ),
    )

    carry_over = forms.BooleanField(
        label=gettext_lazy("Carry over from earlier releases"),
        required=False,
        initial=True,
        help_text=gettext_lazy(
            "Answers to the very same request, and verdicts that would be the same, are not paid twice."
        ),
    )

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        judges = model_judges_of(benchmark)
        self.among("release", releases_of(benchmark), release_label)
        self.among("system", asked_systems_of(benchmark), model_label)
        self.among("judges", judges, model_label)
        self.among("main_judge", judges, model_label)
        for name in ("main_judge", "samples", "repeats"):
            self.fields[name].required = False
        self.fields["main_judge"].help_text = _("Whose verdicts the results show first.")
        self.fields["condition"].initial = "with_image"

    def clean_items(self) -> list[str]:
        """Ids; numbers, as pages show them, are those of the release's items."""
        words = self.cleaned_data["items"].replace(",", " ").split()
        release = self.cleaned_data.get("release")
        if not words or release is None:
            return words
        ids = {f"{number}": uid for number, uid in release.release_items.values_list("item__number", "uid")}
        return [ids.get(word.removeprefix("#"), word) for word in words]

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
        return found + routes_of([data["system"], *data["judges"]])


def warnings_of(row: System | Judge) -> list[RouteWarning]:
    """What in its requests may mislead."""
    if row.endpoint is None:
        return []
    images = row.image_mode if isinstance(row, System) else ""
    return route_warnings(row.endpoint.base_url, row.model, row.extra_body, images=images)


def routes_of(rows: Iterable[System | Judge]) -> list[str]:
    """The same of several, each with its name."""
    return [f"{row.name}: {warning}" for row in rows for warning in warnings_of(row)]


def same_family(system: System, judges: Iterable[Judge]) -> list[Judge]:
    family = system.family.strip().casefold()
    return [judge for judge in judges if family and judge.family.strip().casefold() == family]


def release_label(release: Any) -> str:
    name = _("%(name)s, %(count)d items") % {"name": release.name, "count": release.item_count}
    return name if release.audited else f"{name} ({_('not audited')})"


def model_label(row: Any) -> str:
    details = [row.model] + ([_("demo: recorded answers")] if row.endpoint.is_demo else [])
    return f"{row.name} ({', '.join(details)})"


class TryForm(ChoosesRows, forms.Form):
    """One item of a release for one system, to see what comes."""

    release = forms.ModelChoiceField(Release.objects.none(), label=gettext_lazy("Release"), empty_label=None)
    item = forms.IntegerField(
        label=gettext_lazy("Item number"),
        required=False,
        min_value=1,
        max_value=10**9,
        help_text=gettext_lazy("Empty for the first one of the release."),
    )
    condition = forms.ChoiceField(label=gettext_lazy("Condition"), choices=Condition.choices)

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.among("release", releases_of(benchmark), release_label)


class RejudgeForm(ChoosesRows, forms.Form):
    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"), empty_label=None)

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.among("judge", model_judges_of(benchmark), model_label)


class LabelForm(ChoosesRows, forms.Form):
    """Who labels the failed steps of a run, by which judge's verdicts and which taxonomy."""

    labeller = forms.ModelChoiceField(
        Judge.objects.none(),
        label=gettext_lazy("Labelled by"),
        empty_label=None,
        help_text=gettext_lazy("Its model, extra fields and prices; the prompt is the one for labels."),
    )
    basis = forms.ModelChoiceField(
        Judge.objects.none(), label=gettext_lazy("Failed steps are those missing by"), empty_label=None
    )
    taxonomy = forms.ChoiceField(label=gettext_lazy("Taxonomy"))

    def __init__(self, run: Run, taxonomies: Iterable[str], *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.among("labeller", model_judges_of(run.benchmark), model_label)
        self.among("basis", run.judges.select_related("endpoint"), model_label)
        choice = self.fields["taxonomy"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(version, version) for version in taxonomies]


class TaxonomyForm(forms.Form):
    version = forms.SlugField(
        label=gettext_lazy("Name of the version"),
        max_length=40,
        help_text=gettext_lazy("Letters, digits, hyphens: labels and results name the taxonomy by it."),
    )
    text = forms.CharField(
        label=gettext_lazy("Modes"), widget=forms.Textarea, max_length=20_000,
        help_text=gettext_lazy("One a line: key | name | definition | example."),
    )  # fmt: skip


class PromptForm(forms.Form):
    version = forms.SlugField(
        label=gettext_lazy("Name of the version"),
        max_length=40,
        help_text=gettext_lazy("Letters, digits, hyphens: judges and results name the prompt by it."),
    )
    text = forms.CharField(
        label=gettext_lazy("Text"), widget=forms.Textarea, max_length=20_000, strip=False,
        help_text=gettext_lazy("The one message that the judge gets, with placeholders in braces."),
    )  # fmt: skip


class PlanForm(forms.ModelForm):
    """A plan for marking by people; `of` says of which run or study, as `run-3` or `study-1`."""

    class Meta:
        model = MarkingPlan
        fields = ("method", "size", "seed")
        help_texts = {
            "size": gettext_lazy("At most; fewer where there are fewer of the kind."),
            "seed": gettext_lazy("The same seed draws the same responses."),
        }

    of = forms.ChoiceField(label=gettext_lazy("Run or study"))
    field_order = ("of", "method", "size", "seed")

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        runs = Run.objects.filter(benchmark=benchmark).select_related("system", "release").order_by("-number")
        studies = Study.objects.filter(benchmark=benchmark).order_by("-number")
        self._targets: dict[str, Run | Study] = {f"study-{study.number}": study for study in studies}
        self._targets |= {f"run-{run.number}": run for run in runs}
        of = self.fields["of"]
        assert isinstance(of, forms.ChoiceField)
        of.choices = [(key, _target_label(target)) for key, target in self._targets.items()]
        method = self.fields["method"]
        assert isinstance(method, forms.ChoiceField)
        method.choices = [c for c in MarkingPlan.Method.choices if c[0] != MarkingPlan.Method.HANDED]

    @property
    def target(self) -> Run | Study:
        return self._targets[self.cleaned_data["of"]]


def _target_label(target: Run | Study) -> str:
    if isinstance(target, Study):
        return _("Study %(number)d: %(name)s") % {"number": target.number, "name": target.name}
    values = {"number": target.number, "name": target.system.name, "release": target.release.name}
    return _("Run %(number)d: %(name)s, %(release)s") % values


class AnchorForm(forms.Form):
    """Anchors drawn at random from a run."""

    run = forms.ModelChoiceField(
        Run.objects.none(),
        label=gettext_lazy("Run"),
        to_field_name="number",
        empty_label=gettext_lazy("choose …"),
    )
    size = forms.IntegerField(label=gettext_lazy("How many"), min_value=1, max_value=500, initial=20)

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        field = self.fields["run"]
        assert isinstance(field, forms.ModelChoiceField)
        runs = Run.objects.filter(benchmark=benchmark, study__frozen=None).exclude(state=RunState.CANCELLED)
        field.queryset = runs.select_related("system", "release")
        field.label_from_instance = _target_label  # type: ignore[assignment, method-assign]


class RerunForm(forms.Form):
    items = forms.CharField(
        label=gettext_lazy("Items"),
        max_length=100_000,
        help_text=gettext_lazy("Their numbers, with commas or spaces between them."),
    )

    def clean_items(self) -> list[int]:
        words = self.cleaned_data["items"].replace(",", " ").split()
        if strange := [word for word in words if not (word.isascii() and word.isdigit() and len(word) < 10)]:
            raise forms.ValidationError(_("%(word)s is no item number.") % {"word": strange[0]})
        return [int(word) for word in words]


class BudgetForm(forms.Form):
    """Higher budgets for a run whose budget is used up; empty leaves them as they are."""

    budget = forms.DecimalField(
        label=gettext_lazy("New budget, USD"), min_value=0, max_digits=10, decimal_places=2, required=False
    )
    token_budget = forms.IntegerField(
        label=gettext_lazy("New budget, tokens"), min_value=1, max_value=2**53, required=False
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
