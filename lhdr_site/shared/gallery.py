"""Everything that templates/gallery.html shows: all components in all their states, with invented values.

The page exists in DEBUG only, to look at and to run axe on. Imports no app.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.utils import timezone

from lhdr_site.shared.templatetags import workbench


class Person:
    """A stand-in for a user."""

    def __init__(self, pk: int, name: str) -> None:
        self.pk = pk
        self.name = name

    def get_full_name(self) -> str:
        return self.name

    def get_username(self) -> str:
        return self.name.lower()

    def __str__(self) -> str:
        return self.name


class GalleryForm(forms.Form):
    """One field of every kind that pages use."""

    question = forms.CharField(label="Question", widget=forms.Textarea, help_text="One paragraph, at most 120 words.")
    answer = forms.CharField(label="Answer", max_length=20)
    url = forms.URLField(label="URL", required=False, assume_scheme="https")
    steps = forms.IntegerField(label="Steps", min_value=1)
    category = forms.ChoiceField(label="Category", choices=[("", "Choose"), ("media", "media"), ("people", "people")])
    template = forms.ChoiceField(
        label="Template", choices=[("linear", "Linear"), ("multi_branch", "Multi-branch")], widget=forms.RadioSelect
    )
    tags = forms.MultipleChoiceField(
        label="Operation tags",
        choices=[("constraint", "constraint"), ("temporal", "temporal"), ("numerical", "numerical")],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="As many as fit.",
    )
    blocking = forms.BooleanField(label="This comment blocks locking", required=False)
    accessed = forms.DateField(label="Accessed", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    image = forms.ImageField(label="Evidence image", required=False, help_text="PNG, JPEG or WebP, at most 20 MB.")

    def clean(self) -> None:
        raise forms.ValidationError("Step 3 needs step 5, and step 5 needs step 3. Take one of them away.")


def gate_summary(*statuses: str) -> dict[str, str]:
    """The gates in order with these statuses; the rest are left out, so they are open."""
    return dict(zip(workbench.GATES, statuses, strict=False))


def gallery_context() -> dict[str, Any]:
    """The context of templates/gallery.html."""
    now = timezone.now()
    mei, tomas = Person(1, "Mei Lin"), Person(2, "Tomás Arce")
    wrong = {"question": "", "answer": "a far too long answer to a short question", "steps": "0", "template": "linear"}
    return {
        "item_states": list(workbench.ITEM_STATES),
        "response_statuses": list(workbench.RESPONSE_STATUSES),
        "run_states": list(workbench.RUN_STATES),
        "verdicts": list(workbench.VERDICTS),
        "finding_levels": list(workbench.FINDING_LEVELS),
        "save_states": list(workbench.SAVE_STATES),
        "modalities": ["text", *workbench.MODALITIES],
        "gates": gate_summary("passed", "failed", "open", "stale"),
        "all_passed": gate_summary(*["passed"] * 7),
        "blockers": [3, 4],
        "people": [mei, tomas, Person(3, "Ida Berg"), Person(4, "Kofi Owusu"), Person(5, "sam")],
        "mei": mei,
        "items": [
            {
                "number": 142,
                "state": "returned",
                "gates": gate_summary("passed", "failed", "open", "stale"),
                "by": tomas,
            },
            {"number": 149, "state": "locked", "gates": gate_summary(*["passed"] * 7), "by": mei},
            {"number": 171, "state": "draft", "gates": gate_summary(), "by": tomas},
        ],
        "item_counts": {"draft": 9, "submitted": 6, "secondary_audit": 12, "returned": 5, "approved": 6, "locked": 102},
        "response_counts": {"pending": 34, "running": 4, "completed": 61, "failed": 3},
        "moments": [now - dt.timedelta(**{unit: 3}) for unit in ("seconds", "minutes", "hours", "days", "weeks")],
        "tabs": [
            {"name": "checks", "label": "Checks", "url": "#checks", "count": 6},
            {"name": "comments", "label": "Comments", "url": "#comments", "count": 0},
            {"name": "history", "label": "History", "url": "#history"},
        ],
        "page": Paginator(range(120), 50).page(2),
        "form": GalleryForm(auto_id="new_%s"),
        "wrong_form": GalleryForm(wrong, auto_id="wrong_%s"),
        "conflict": {
            "section": "Question",
            "who": tomas,
            "at": now - dt.timedelta(minutes=2),
            "theirs": "The bird on the cover was redrawn by a studio.",
            "yours": "The emblem on the cover was redrawn by a studio in 2003.",
        },
        "shortcuts": [("j", "Next step"), ("k", "Previous step"), ("Ctrl+S", "Save")],
        "demo": True,
    }
