"""Forms of the audit's pages: a new release."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .models import Release


class ReleaseForm(forms.ModelForm):
    class Meta:
        model = Release
        fields = ["name", "note"]
        help_texts = {
            "name": _("For example v1 or 2026-12. It is part of addresses and file names and never changes."),
            "note": _("What is in it and what it is for."),
        }
        widgets = {"note": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["name"].widget.attrs["autocomplete"] = "off"
