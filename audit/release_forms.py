"""Forms of releases: which items, what it is called and how it is split, and a picture to take down."""

from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.document import TEMPLATES
from annotation.forms.listing import TEMPLATE_WORDS
from annotation.listing import Filters, categories_in
from annotation.models import Benchmark
from annotation.states import State

from .models import Release
from .picks import MOST, read_numbers
from .splits import LARGEST_SEED, SPLITS, SplitPlan, read_list

SPLIT_WORDS = {"dev": gettext_lazy("dev"), "test": gettext_lazy("test"), "held_out": gettext_lazy("held out")}


class PickForm(forms.Form):
    """What narrows the list of locked items while some are chosen."""

    q = forms.CharField(required=False, max_length=200, label=gettext_lazy("Search"))
    category = forms.ChoiceField(required=False, label=gettext_lazy("Category"))
    template = forms.ChoiceField(required=False, label=gettext_lazy("Template"))
    tag = forms.ChoiceField(required=False, label=gettext_lazy("Operation tag"))
    author = forms.ChoiceField(required=False, label=gettext_lazy("Author"))

    def __init__(self, data: QueryDict, benchmark: Benchmark, authors: list[Any]):
        super().__init__(data, auto_id="pick_%s")
        any_ = ("", _("any"))
        choices: dict[str, list[tuple[str, Any]]] = {
            "category": [any_, *categories_in(benchmark).items()],
            "template": [any_, *((code, TEMPLATE_WORDS[code]) for code in (*TEMPLATES, "none"))],
            "tag": [any_, *((tag.slug, tag.name) for tag in benchmark.operation_tags.all())],
            "author": [("", _("anybody")), *((a.username, a.get_full_name() or a.username) for a in authors)],
        }
        for name, options in choices.items():
            self.fields[name].choices = options  # type: ignore[attr-defined]

    def filters(self) -> Filters:
        """What could be read of it, among locked items."""
        self.is_valid()
        found = {name: value for name, value in self.cleaned_data.items() if value}
        for name in ("category", "tag"):
            if name in found:
                found[name] = [found[name]]
        return Filters(state=[State.LOCKED.value], **found)

    @property
    def narrows(self) -> bool:
        return any(self.cleaned_data.values()) if self.is_valid() else False


def picked(data: QueryDict, default: set[int]) -> set[int]:
    """The numbers that are chosen: `items` without what was `shown`, and what of that is ticked (`n`).

    default: where the address and the form say nothing. What cannot be read chooses nothing.
    """

    def numbers(text: Any) -> set[int]:
        try:
            return read_numbers(text)
        except ValueError:
            return set()

    chosen = numbers(data.get("items", "")) if "items" in data else default
    ticked = {int(text) for text in data.getlist("n")[:MOST] if text.isdecimal() and len(text) < 8}
    return (chosen - numbers(data.get("shown", ""))) | ticked


class ReleaseForm(forms.ModelForm):
    """Everything but the items."""

    PARTS = (("", gettext_lazy("none")), ("share", gettext_lazy("by share")), ("list", gettext_lazy("by a list")))

    parts = forms.ChoiceField(
        required=False, choices=PARTS, widget=forms.RadioSelect, label=gettext_lazy("Splits"), initial=""
    )
    dev = forms.IntegerField(required=False, min_value=0, max_value=100, label=gettext_lazy("dev, %"))
    test = forms.IntegerField(required=False, min_value=0, max_value=100, label=gettext_lazy("test, %"))
    held_out = forms.IntegerField(required=False, min_value=0, max_value=100, label=gettext_lazy("held out, %"))
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        label=gettext_lazy("Seed"),
        help_text=gettext_lazy("Draws who goes where, within each category; it is recorded. Empty is 0."),
    )
    split_list = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        label=gettext_lazy("List"),
        help_text=gettext_lazy("A line for each item: its number or id, a comma, and dev, test or held_out."),
    )

    class Meta:
        model = Release
        fields = ["version", "name", "note", "license_note"]
        help_texts = {
            "name": gettext_lazy("Part of addresses and file names; it never changes."),
            "note": gettext_lazy("What is in it and what it is for, in Markdown. The draft comes from the difference."),
            "license_note": gettext_lazy("Why they may be released all the same. It is printed on the release."),
        }
        widgets = {"note": forms.Textarea(attrs={"rows": 6}), "license_note": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name in ("name", "version"):
            self.fields[name].widget.attrs["autocomplete"] = "off"
        self.fields["version"].help_text = _("Semantic: major.minor.patch.")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        plan = SplitPlan()
        if data.get("parts") == "share":
            plan = SplitPlan(shares={name: data.get(name) or 0 for name in SPLITS}, seed=data.get("seed") or 0)
            if not self.errors and sum(plan.shares.values()) != 100:
                text = _("The shares make %(total)d %%; they must make 100 %%.") % {"total": sum(plan.shares.values())}
                self.add_error("test", text)
        elif data.get("parts") == "list":
            try:
                plan = SplitPlan(named=read_list(data.get("split_list") or ""))
                if not plan.named:
                    raise ValueError(_("the list is empty"))
            except ValueError as error:
                self.add_error("split_list", _sentence(error))
        data["splits"] = plan
        return data

    def values(self) -> dict[str, Any]:
        """What `cut_release` takes."""
        names = ("name", "note", "version", "license_note", "splits")
        return {name: self.cleaned_data[name] for name in names}


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."


class RedactionForm(forms.Form):
    """A picture to take down."""

    sha256 = forms.RegexField(
        r"^\s*[0-9a-fA-F]{64}\s*$",
        label=gettext_lazy("SHA-256 of the picture"),
        help_text=gettext_lazy("64 hexadecimal digits, as in the picture's address and in the manifest of a release."),
        error_messages={"invalid": gettext_lazy("This is no SHA-256: write its 64 hexadecimal digits.")},
    )
    reason = forms.CharField(
        max_length=2000,
        label=gettext_lazy("Reason"),
        help_text=gettext_lazy("It is shown wherever the picture was, and in every export, for good."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    sure = forms.BooleanField(label=gettext_lazy("I know that this cannot be undone."))
