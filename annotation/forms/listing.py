"""The item list's filters, read from the address: what cannot be read narrows nothing, and is said so."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.document import TEMPLATES
from annotation.listing import SORTS, Filters, categories_in
from annotation.models import Benchmark
from annotation.states import GateStatus
from lhdr_site.shared.templatetags.workbench import GATE_STATUSES, ITEM_STATES

DAYS = (1, 3, 7, 30, 90)
TEMPLATE_WORDS = {
    "linear": gettext_lazy("Linear"),
    "multi_branch": gettext_lazy("Multi-branch"),
    "none": gettext_lazy("not chosen"),
}
DUE_WORDS = {
    "overdue": gettext_lazy("overdue"),
    "soon": gettext_lazy("within a week or overdue"),
}
SORT_WORDS = {
    "updated": gettext_lazy("Updated"),
    "number": gettext_lazy("Number"),
    "steps": gettext_lazy("Steps"),
    "depth": gettext_lazy("Depth"),
    "comments": gettext_lazy("Open comments"),
    "errors": gettext_lazy("Errors"),
    "created": gettext_lazy("Created"),
    "due": gettext_lazy("Due"),
}


class FilterForm(forms.Form):
    """One field a filter; the names are those of the address."""

    q = forms.CharField(required=False, max_length=200, label=gettext_lazy("Search"))
    state = forms.MultipleChoiceField(required=False, label=gettext_lazy("State"))
    category = forms.MultipleChoiceField(required=False, label=gettext_lazy("Category"))
    template = forms.ChoiceField(required=False, label=gettext_lazy("Template"))
    tag = forms.MultipleChoiceField(required=False, label=gettext_lazy("Operation tag"))
    author = forms.CharField(required=False, max_length=150, label=gettext_lazy("Author"))
    auditor = forms.CharField(required=False, max_length=150, label=gettext_lazy("Auditor"))
    gate = forms.ChoiceField(required=False, label=gettext_lazy("A gate is"))
    has_errors = forms.BooleanField(required=False, label=gettext_lazy("Has errors"))
    days = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, label=gettext_lazy("Updated"))
    due = forms.ChoiceField(required=False, label=gettext_lazy("Due"))
    source = forms.CharField(required=False, max_length=4000, label=gettext_lazy("Source"))
    entity = forms.CharField(required=False, max_length=400, label=gettext_lazy("Entity"))
    sort = forms.ChoiceField(required=False, choices=[(s, SORT_WORDS[s]) for s in SORTS], label=gettext_lazy("Sort by"))
    ascending = forms.BooleanField(required=False, label=gettext_lazy("Lowest first"))

    def __init__(self, data: QueryDict, benchmark: Benchmark, authors: list[Any], **kwargs: Any):
        super().__init__(data, auto_id="filter_%s", **kwargs)
        any_ = ("", _("any"))
        choices: dict[str, list[tuple[str, Any]]] = {
            "state": [(code, look.word) for code, look in ITEM_STATES.items()],
            "category": list(categories_in(benchmark).items()),
            "template": [any_, *((code, TEMPLATE_WORDS[code]) for code in (*TEMPLATES, "none"))],
            "tag": [(t.slug, t.name) for t in benchmark.operation_tags.all()],
            "gate": [any_, *((code, look.word) for code, look in GATE_STATUSES.items() if code != GateStatus.PASSED)],
            "due": [any_, *DUE_WORDS.items()],
            "days": [any_, *((str(d), _days(d)) for d in DAYS)],
        }
        for name, options in choices.items():
            self.fields[name].choices = options  # type: ignore[attr-defined]
        for name in ("state", "category", "tag"):
            self.fields[name].widget = forms.CheckboxSelectMultiple(choices=choices[name])
        people = [("", _("anybody")), *((a.username, a.get_full_name() or a.username) for a in authors)]
        for name in ("author", "auditor"):
            self.fields[name].widget = forms.Select(choices=people)
        self.people = dict(people)

    def filters(self) -> Filters:
        """The filters that could be read."""
        self.is_valid()
        return Filters(**{name: value for name, value in self.cleaned_data.items() if value not in ("", None)})

    def unread(self) -> list[str]:
        """The labels of filters in the address that are none here, such as a category that does not exist."""
        return [str(self.fields[name].label) for name in self.errors if name in self.fields]


@dataclass(frozen=True)
class Chip:
    """A filter that is on, in words, and the address without it."""

    label: str
    value: str
    url: str


def chips_of(form: FilterForm, data: QueryDict) -> list[Chip]:
    """One chip for each value that narrows the list, in the order of the fields."""
    chips = []
    if form.cleaned_data.get("sort") == "due":
        chips.append(Chip(_("Due"), _("has a date"), without(data, "sort", "due")))
    for name, bound in form.fields.items():
        value = form.cleaned_data.get(name)
        if name in ("sort", "ascending") or not value:
            continue
        for one in value if isinstance(value, list) else [value]:
            chips.append(Chip(str(bound.label), _value_word(form, name, one), without(data, name, str(one))))
    return chips


def _value_word(form: FilterForm, name: str, value: Any) -> str:
    if name == "q":
        return f"“{value}”"
    if name in ("source", "entity"):
        return str(value)
    if name == "has_errors":
        return _("yes")
    if name in ("author", "auditor"):
        return str(form.people.get(value, value))
    return str(dict(form.fields[name].choices).get(str(value), value))  # type: ignore[attr-defined]


def _days(days: int) -> str:
    return _("today or yesterday") if days == 1 else _("last %(days)d days") % {"days": days}


def changed(data: QueryDict, **values: str) -> str:
    """The address with these values instead; "" takes one out. Paging starts anew."""
    query = data.copy()
    for name in ("after", "before", *values):
        query.pop(name, None)
    for name, value in values.items():
        if value:
            query[name] = value
    return f"?{query.urlencode()}"


def view_query(data: QueryDict) -> str:
    """What a named view keeps of an address: filters, sorting and columns, in one order."""
    kept = {name: [v for v in data.getlist(name) if v] for name in (*FilterForm.base_fields, "columns")}
    pairs = [(name, value) for name, values in kept.items() for value in sorted(values)]
    return urlencode(pairs)


def without(data: QueryDict, name: str, value: str) -> str:
    """The address without one value of a filter."""
    query = data.copy()
    kept = [v for v in query.getlist(name) if v != value] if len(query.getlist(name)) > 1 else []
    for gone in ("after", "before", name):
        query.pop(gone, None)
    query.setlist(name, kept)
    return f"?{query.urlencode()}"
