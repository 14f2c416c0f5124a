"""Forms of importing responses and verdicts."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.benchmarks import Benchmark
from audit.releases import Release

from .forms import ChoosesRows, release_label
from .interchange import FORMATS, VERDICT_FORMATS
from .models import Condition, Group, Judge, System
from .queries import releases_of

IMPORT_MAX_MB = 100
FORMAT_WORDS = {
    "auto": gettext_lazy("Find out from the file"),
    "lhdr": gettext_lazy("Our own JSONL"),
    "mr-lhdr": gettext_lazy("The paper's evaluator"),
    "mm-browsecomp": gettext_lazy("MM-BrowseComp answers"),
    "inspect": gettext_lazy("Inspect log (.json, .eval)"),
}


class FileForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("File"), error_messages={"empty": gettext_lazy("The file is empty; choose another.")}
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > IMPORT_MAX_MB * 1024 * 1024:
            text = _("The file has over %(limit)d MB. Import it with the command on the server.")
            raise forms.ValidationError(text % {"limit": IMPORT_MAX_MB})
        return file


class ImportResponsesForm(ChoosesRows, FileForm):
    field_order = ("file", "format", "release", "condition", "system", "name", "group", "family", "judge")
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=[(code, FORMAT_WORDS[code]) for code in FORMATS])
    release = forms.ModelChoiceField(label=gettext_lazy("Release"), queryset=Release.objects.none(), empty_label=None)
    condition = forms.ChoiceField(
        label=gettext_lazy("Condition"),
        choices=[("", gettext_lazy("As the file says; else with image")), *Condition.choices],
        required=False,
    )
    system = forms.ModelChoiceField(
        label=gettext_lazy("System"),
        queryset=System.objects.none(),
        required=False,
        empty_label=gettext_lazy("A new one, as follows"),
    )
    name = forms.CharField(label=gettext_lazy("Name of a new system"), max_length=80, required=False)
    group = forms.ChoiceField(label=gettext_lazy("Its group"), choices=Group.choices, required=False)
    family = forms.CharField(label=gettext_lazy("Its vendor family"), max_length=80, required=False)
    judge = forms.ModelChoiceField(
        label=gettext_lazy("Main judge"),
        queryset=Judge.objects.none(),
        required=False,
        empty_label=gettext_lazy("A judge elsewhere, as follows"),
        help_text=gettext_lazy("Whose verdicts the results show first. “Judge again” has the answers judged."),
    )
    judge_elsewhere = forms.CharField(
        label=gettext_lazy("Name of a judge elsewhere"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Whose verdicts come from a file as well."),
    )
    note = forms.CharField(label=gettext_lazy("Note"), widget=forms.Textarea, required=False, max_length=10_000)

    def __init__(self, benchmark: Benchmark, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.among("release", releases_of(benchmark), release_label)
        self.among("system", System.objects.filter(benchmark=benchmark), str)
        self.among("judge", Judge.objects.filter(benchmark=benchmark, person=None), str)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not data.get("system") and "system" not in self.errors:
            for name in ("name", "group", "family"):
                if not data.get(name) and name not in self.errors:
                    self.add_error(name, _("Say this of a new system, or choose one that is there."))
        if not data.get("judge") and not data.get("judge_elsewhere") and "judge" not in self.errors:
            self.add_error("judge", _("Choose a judge, or name one elsewhere."))
        return data

    @property
    def whose(self) -> Any:
        """The system, or what is said of a new one."""
        new = {name: self.cleaned_data[name] for name in ("name", "group", "family")}
        return self.cleaned_data["system"] or new


class ImportVerdictsForm(FileForm):
    format = forms.ChoiceField(
        label=gettext_lazy("Format"), choices=[(code, FORMAT_WORDS[code]) for code in VERDICT_FORMATS]
    )
    judge = forms.CharField(
        label=gettext_lazy("Judge"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Whose verdicts they are. Empty: as each row says."),
    )
