"""Forms of studies. They check what can be said beside a field; the actions check again and have the last word."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.benchmarks import Benchmark
from lhdr_site.shared.fields import ManyField

from .forms import ChoosesRows, JudgedForm, model_label, release_label, routes_of, same_family
from .models import Condition, Run, Study
from .queries import asked_systems_of, model_judges_of, releases_of
from .study_queries import adoptable_runs


class StudyForm(JudgedForm):
    """A plan, new or changed; the release of a study never changes."""

    conditions = forms.MultipleChoiceField(
        label=gettext_lazy("Conditions"),
        choices=Condition.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Both, and every system is also asked without the image: for the image ablation."),
    )

    class Meta:
        model = Study
        fields = (
            "name",
            "release",
            "systems",
            "conditions",
            "judges",
            "main_judge",
            "samples",
            "repeats",
            "concurrency",
            "budget",
            "token_budget",
            "note",
        )
        field_classes = {"systems": ManyField, "judges": ManyField}
        widgets = {
            "systems": forms.CheckboxSelectMultiple,
            "judges": forms.CheckboxSelectMultiple,
            "note": forms.Textarea,
        }
        help_texts = {
            "release": gettext_lazy("Its item count is the denominator, whatever fails."),
            "systems": gettext_lazy("Each is asked every item under each condition."),
            "judges": gettext_lazy("Each judges every response."),
            "samples": gettext_lazy("How often each item is asked; scores are means over them."),
            "repeats": gettext_lazy("How often each judge judges each response: shows verdicts that flip."),
            "concurrency": gettext_lazy("Of runs launched from now on. The endpoint's own limit holds besides."),
            "budget": gettext_lazy(
                "Over all runs together: they stop when the known cost reaches it. Empty for no limit."
            ),
            "token_budget": gettext_lazy("Tokens in and out, over all runs together. Empty for no limit."),
        }

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        judges = model_judges_of(benchmark)
        self.among("release", releases_of(benchmark), release_label)
        self.among("systems", asked_systems_of(benchmark), model_label)
        self.among("judges", judges, model_label)
        self.among("main_judge", judges, model_label)
        self.fields["main_judge"].required = False
        self.fields["main_judge"].help_text = _("Whose verdicts the results show.")
        self.fields["conditions"].initial = [Condition.WITH_IMAGE]
        if self.instance.pk:
            self.fields["release"].disabled = True

    def _post_clean(self) -> None:
        """The action makes and checks the row, under its lock."""

    @property
    def warnings(self) -> list[str]:
        """What to think about before spending anything; empty unless the form is valid."""
        if not self.is_valid():
            return []
        data, found = self.cleaned_data, []
        for system in data["systems"]:
            if kin := same_family(system, data["judges"]):
                names = {"judges": ", ".join(judge.name for judge in kin), "system": system.name}
                found.append(_("%(judges)s and %(system)s are of one family: a model may favour its own kin.") % names)
            if system.image_mode == "none" and len(data["conditions"]) > 1:
                found.append(_("%s withholds images, so both conditions would be the same for it.") % system.name)
        if not data["release"].audited:
            text = _("Release %(name)s is not audited: its results are for trying out.")
            found.append(text % {"name": data["release"]})
        return found + routes_of([*data["systems"], *data["judges"]])


class AdoptForm(ChoosesRows, forms.Form):
    run = forms.ModelChoiceField(Run.objects.none(), label=gettext_lazy("Finished run"), empty_label=None)

    def __init__(self, study: Study, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.among("run", adoptable_runs(study), _run_label)


def _run_label(run: Any) -> str:
    values = {"n": run.number, "system": run.system.name, "condition": run.get_condition_display()}
    return _("#%(n)d %(system)s, %(condition)s") % values
