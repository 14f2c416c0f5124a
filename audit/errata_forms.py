"""Forms of errata: what is wrong with an item, and core's word on it."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from .errata_actions import LONGEST
from .models import Errata

DECISIONS = [
    (Errata.Status.VALID, _("Valid: nothing is wrong")),
    (Errata.Status.REVISED, _("To be revised: the fault can be mended")),
    (Errata.Status.UNCERTAIN, _("Uncertain: it cannot be told yet; users are warned")),
    (Errata.Status.RETIRED, _("Retired: new releases leave it out")),
]


class FlagForm(forms.Form):
    kind = forms.ChoiceField(label=_("What is wrong"), choices=Errata.Kind.choices, widget=forms.RadioSelect)
    anchor = forms.ChoiceField(
        label=_("Which step or source"), required=False, help_text=_("Needed for a step or a source.")
    )
    grounds = forms.CharField(
        label=_("Grounds"),
        max_length=LONGEST,
        widget=forms.Textarea,
        help_text=_("What is wrong, and how one sees it: a source, a counterexample, another answer."),
    )

    def __init__(self, document: dict[str, Any], *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        steps = [(s["key"], _short(f"{n}. {s['conclusion']}")) for n, s in enumerate(document["checklist"], 1)]
        sources = [(s["key"], _short(f"{s['key']} {s['title'] or s['url']}")) for s in document["sources"]]
        field = self.fields["anchor"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "–"), (_now("Steps"), steps), (_now("Sources"), sources)]

    def clean(self) -> dict[str, Any]:
        """A key is for a step or a source alone; what was left chosen for the others is dropped."""
        data = super().clean() or {}
        if data.get("kind") in (Errata.Kind.PROBLEM, Errata.Kind.ANSWER):
            data["anchor"] = ""
        return data


class DecisionForm(forms.Form):
    status = forms.ChoiceField(label=_("Decision"), choices=DECISIONS, widget=forms.RadioSelect)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST,
        widget=forms.Textarea,
        help_text=_("Everybody who uses the item reads it, and the notes of the next release."),
    )
    unlock = forms.BooleanField(
        label=_("Unlock the item now and return it to its author with this reason"), required=False
    )
    seen = forms.CharField(max_length=10, widget=forms.HiddenInput)


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:99]}…"
