"""Forms of probes and gradeability: whom to ask, an answer from elsewhere, a person's word, which judge."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.probes import Probe
from lhdr_site.shared.fields import ManyField

from .models import Judge, System
from .probe_panel import GradePanel, ProbePanel, system_label
from .queries import asked_systems_of

CONDITIONS = [("with", gettext_lazy("with images")), ("without", gettext_lazy("without images"))]


class ProbeForm(forms.Form):
    systems = ManyField(System.objects.none(), label=gettext_lazy("Systems"), widget=forms.CheckboxSelectMultiple)
    conditions = forms.MultipleChoiceField(
        label=gettext_lazy("The question"), choices=CONDITIONS, widget=forms.CheckboxSelectMultiple
    )
    times = forms.IntegerField(label=gettext_lazy("Times each"), min_value=1, max_value=10, initial=1)
    judge = forms.ModelChoiceField(
        Judge.objects.none(),
        label=gettext_lazy("Judge of the answers"),
        required=False,
        empty_label=gettext_lazy("none, people only"),
        help_text=gettext_lazy("Says whether the final answer is the right one; a person's word stands over it."),
    )

    def __init__(self, panel: ProbePanel, data: Any = None):
        pictures = any(image.role == "question" for image in panel.document.images)
        initial = {"conditions": ["with", "without"] if pictures else ["without"]}
        super().__init__(data, initial=initial, auto_id="ask_%s")
        systems, judge = self.fields["systems"], self.fields["judge"]
        assert isinstance(systems, forms.ModelChoiceField) and isinstance(judge, forms.ModelChoiceField)
        systems.queryset = asked_systems_of(panel.item.benchmark)
        systems.label_from_instance = system_label  # type: ignore[assignment, method-assign]
        judge.queryset = Judge.objects.filter(pk__in=[judge.pk for judge in panel.judges])


class PastedForm(forms.Form):
    system_name = forms.CharField(
        label=gettext_lazy("System"), max_length=200, help_text=gettext_lazy("For example the name of a chat page.")
    )
    vendor = forms.CharField(label=gettext_lazy("Vendor"), max_length=80, required=False)
    condition = forms.ChoiceField(label=gettext_lazy("The question was sent"), choices=CONDITIONS, initial="with")
    when = forms.DateTimeField(
        label=gettext_lazy("When"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=gettext_lazy("When the answer was given, in UTC."),
    )
    text = forms.CharField(label=gettext_lazy("The answer"), widget=forms.Textarea, max_length=200_000)

    def __init__(self, data: Any = None):
        super().__init__(data, initial={"when": timezone.now()}, auto_id="paste_%s")


class WordForm(forms.Form):
    recovered = forms.ChoiceField(
        label=gettext_lazy("The answer is"),
        choices=[("no", gettext_lazy("not recovered")), ("yes", gettext_lazy("recovered"))],
        widget=forms.RadioSelect,
    )
    path = forms.ChoiceField(label=gettext_lazy("Direct path"), choices=Probe.Path.choices, widget=forms.RadioSelect)
    comment = forms.CharField(
        label=gettext_lazy("Comment"), required=False, widget=forms.Textarea(attrs={"rows": "2"}), max_length=10_000
    )

    def __init__(self, probe: Probe, data: Any = None):
        initial = {}
        if probe.has_word:
            initial = {
                "recovered": "yes" if probe.recovered else "no", "path": probe.path, "comment": probe.comment
            }  # fmt: skip
        super().__init__(data, initial=initial, auto_id=f"word{probe.pk}_%s")


class JudgeChoice(forms.Form):
    """A judge to ask about an answer that is there."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"), empty_label=None)

    def __init__(self, judges: list[Judge], data: Any = None, *, auto_id: str):
        super().__init__(data, auto_id=auto_id)
        field = self.fields["judge"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Judge.objects.filter(pk__in=[judge.pk for judge in judges])
        field.choices = [(judge.pk, judge.name) for judge in judges]  # known: a list shows this form many times


class GradeForm(JudgeChoice):
    scope = forms.ChoiceField(
        label=gettext_lazy("Leave out"),
        choices=[("middle", gettext_lazy("a middle step")), ("each", gettext_lazy("each step in turn"))],
        initial="middle",
        widget=forms.RadioSelect,
    )

    def __init__(self, panel: GradePanel, data: Any = None):
        super().__init__(panel.judges, data, auto_id="grade_%s")
        self.fields["scope"].help_text = _("Each step costs one more call.")
