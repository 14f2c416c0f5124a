"""Forms of the audit's pages: the plan of a benchmark's audit."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .models import AuditPlan
from .plans import LIMITS


class PlanForm(forms.ModelForm):
    class Meta:
        model = AuditPlan
        fields = ["different_auditors", *LIMITS, "gradeability"]
        help_texts = {
            "different_auditors": _(
                "Who passed phase 2 on an item may not judge phase 4 of it. An admin can set this aside for one item."
            ),
            "pilot_items": _("Submitted items of a new annotator that the core team rates before calibrating them."),
            "pilot_raters": _("1 or 2. Two raters do not see each other's ratings before both are done."),
            "probes_with_image": _("Probes with images that phase 3 needs of each item. 0: none is required."),
            "probes_without_image": _("Probes without images that phase 3 needs of each item. 0: none is required."),
            "author_probes": _("How many probes of one draft its author may ask for."),
            "gradeability": _(
                "Whether a judge must grade the written-out solution right before an item is locked."
            ),
            "claim_minutes": _("Time that a person has for an item taken from the queue, from their last visit on."),
            "stuck_days": _("After this time in one state without any move the queue lists an item as stuck."),
            "recheck_days": _("A link check older than this is made again."),
            "double_audit_percent": _("Share of the items that a second auditor judges without seeing the first."),
        }  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, (least, most) in LIMITS.items():
            self.fields[name] = forms.IntegerField(
                label=self.fields[name].label,
                help_text=self.fields[name].help_text,
                min_value=least,
                max_value=most,
            )
