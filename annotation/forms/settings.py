"""Forms of a benchmark's settings, of a new benchmark, an import and a person. They check and write nothing."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.interchange import FORMATS
from annotation.models import Benchmark, Category, Membership, OperationTag, Preferences, Preset, slug_validator
from lhdr_site.shared.fields import ManyField

IMPORT_MAX_MB = 100
FORMAT_WORDS = {
    "auto": gettext_lazy("Find out from the first rows"),
    "lhdr": gettext_lazy("lhdr: our own"),
    "mr-lhdr": gettext_lazy("mr-lhdr: the layout of the paper's evaluator"),
    "mm-browsecomp": gettext_lazy("mm-browsecomp"),
}


class BenchmarkCreateForm(forms.Form):
    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=50,
        validators=[slug_validator],
        help_text=gettext_lazy("Stands in every address and never changes: lower-case letters, digits, - and _."),
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    preset = forms.ChoiceField(
        label=gettext_lazy("Preset"), choices=Preset.choices, initial=Preset.PAPER.value, widget=forms.RadioSelect
    )

    def clean_slug(self) -> str:
        slug = self.cleaned_data["slug"]
        if Benchmark.objects.filter(slug=slug).exists():
            raise forms.ValidationError(_("There is a benchmark of this short name already. Choose another."))
        return slug


class PreferencesForm(forms.ModelForm):
    class Meta:
        model = Preferences
        fields = [
            *["mail_mentions", "mail_comments", "mail_suggestions", "mail_assignments", "mail_returns"],
            "mail_runs",
        ]


class BenchmarkForm(forms.ModelForm):
    class Meta:
        model = Benchmark
        fields = [
            *["name", "description", "language", "target"],
            *["min_steps", "min_nodes", "max_answer_words", "wikipedia_percent", "dataset_urls"],
        ]


class EndpointsForm(forms.ModelForm):
    class Meta:
        model = Benchmark
        fields = ["endpoints"]
        field_classes = {"endpoints": ManyField}
        widgets = {"endpoints": forms.CheckboxSelectMultiple}


class MemberForm(forms.Form):
    """A person, by user name, and a role."""

    username = forms.CharField(label=gettext_lazy("User name"), max_length=150)
    role = forms.TypedChoiceField(label=gettext_lazy("Role"), coerce=int, choices=Membership.ROLES)

    def clean_username(self) -> User:
        name = self.cleaned_data["username"].strip()
        user = User.objects.filter(username=name).first()
        if user is None:
            text = _("There is no user “%(name)s”. A superuser of this installation makes accounts.")
            raise forms.ValidationError(text % {"name": name})
        if not user.is_active:
            raise forms.ValidationError(_("The account “%(name)s” is deactivated.") % {"name": name})
        return user


class LabelForm(forms.Form):
    """A category or an operation tag. `slug` is asked for only when it is new."""

    slug = forms.CharField(label=gettext_lazy("Short name"), max_length=50, validators=[slug_validator])
    name = forms.CharField(label=gettext_lazy("Name"), max_length=80)
    target = forms.IntegerField(label=gettext_lazy("Target"), required=False, min_value=0, max_value=1_000_000)

    def __init__(self, *args: Any, existing: Category | OperationTag | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if existing is not None:
            del self.fields["slug"]


class ImportForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("File of items"),
        help_text=gettext_lazy("JSON Lines, UTF-8, without pictures of its own."),
        error_messages={"empty": gettext_lazy("The file is empty. It must hold one JSON object per line.")},
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Format"), choices=[(code, FORMAT_WORDS[code]) for code in FORMATS], initial="auto"
    )
    linear_prerequisites = forms.BooleanField(
        label=gettext_lazy("Steps that name no prerequisites form a chain"), required=False
    )
    new_ids = forms.BooleanField(
        label=gettext_lazy("Give the items new ids (when another benchmark already has them)"), required=False
    )

    def clean_file(self) -> UploadedFile:
        file = self.cleaned_data["file"]
        if file.size > IMPORT_MAX_MB * 1024 * 1024:
            text = _("The file has over %(limit)d MB. Import it with the command `lhdr import_items`.")
            raise forms.ValidationError(text % {"limit": IMPORT_MAX_MB})
        return file
