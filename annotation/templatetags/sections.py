"""Parts of the item workbench: names of sections and choices, and the controls of section forms."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.document import (
    EFFECTS,
    IMAGE_ROLES,
    MODALITIES,
    NODE_KINDS,
    RELATION_KINDS,
    SOURCE_KINDS,
    TEMPLATES,
    VOLATILITIES,
)
from annotation.forms.sections import FormRow, SectionForm
from lhdr_site.shared.markdown import render_markdown

register = template.Library()

TITLES: dict[str, str | Promise] = {
    "": gettext_lazy("The whole item"),
    "question": gettext_lazy("Question and answer"),
    "images": gettext_lazy("Images"),
    "design": gettext_lazy("Design notes"),
    "graph": gettext_lazy("Node-Relation graph"),
    "checklist": gettext_lazy("Checklist"),
    "sources": gettext_lazy("Sources"),
    "metadata": gettext_lazy("Metadata"),
}
WORDS: dict[str, str | Promise] = {
    "text": gettext_lazy("text"),
    "image": gettext_lazy("image"),
    "map": gettext_lazy("map"),
    "pdf": gettext_lazy("pdf"),
    "chart": gettext_lazy("chart"),
    "table": gettext_lazy("table"),
    "logo": gettext_lazy("logo"),
    "video": gettext_lazy("video"),
    "audio": gettext_lazy("audio"),
    "identifies": gettext_lazy("identifies"),
    "constrains": gettext_lazy("constrains"),
    "confirms": gettext_lazy("confirms"),
    "localizes": gettext_lazy("localizes"),
    "extracts": gettext_lazy("extracts"),
    "bridges": gettext_lazy("bridges"),
    "person": gettext_lazy("person"),
    "organization": gettext_lazy("organization"),
    "place": gettext_lazy("place"),
    "work": gettext_lazy("work"),
    "event": gettext_lazy("event"),
    "artifact": gettext_lazy("artifact"),
    "concept": gettext_lazy("concept"),
    "other": gettext_lazy("other"),
    "shared_attribute": gettext_lazy("shared attribute"),
    "uniqueness_constraint": gettext_lazy("uniqueness constraint"),
    "web": gettext_lazy("web"),
    "wikipedia": gettext_lazy("wikipedia"),
    "question": gettext_lazy("question (shown to systems)"),
    "evidence": gettext_lazy("evidence (hidden)"),
    "stable": gettext_lazy("stable"),
    "slow": gettext_lazy("changes slowly"),
    "volatile": gettext_lazy("volatile"),
    "linear": gettext_lazy("Linear"),
    "multi_branch": gettext_lazy("Multi-branch"),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "modality": MODALITIES,
    "effect": EFFECTS,
    "nodes.kind": NODE_KINDS,
    "relations.kind": RELATION_KINDS,
    "sources.kind": SOURCE_KINDS,
    "role": IMAGE_ROLES,
    "volatility": VOLATILITIES,
    "template": TEMPLATES,
}
SOURCE_ICONS = {
    "web": "world",
    "wikipedia": "brand-wikipedia",
    "pdf": "file-type-pdf",
    "video": "video",
    "map": "map",
    "audio": "volume",
    "table": "table",
}


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The value under a key that is itself a variable; nothing when there is none."""
    return mapping.get(key)


@register.filter
def section_title(name: str) -> str:
    return str(TITLES.get(name, name))


@register.filter
def word(code: str | None) -> str:
    """A choice of the document in words."""
    return str(WORDS.get(code, code)) if code else ""


@register.filter
def markdown(text: str) -> SafeString:
    return render_markdown(text)


@register.filter
def source_icon(kind: str | None) -> str:
    return SOURCE_ICONS.get(kind or "", "link")


@register.filter
def short_url(url: str) -> str:
    """A URL as people read it."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")


@register.filter
def is_web_url(url: str) -> bool:
    """Whether it may become a link: other schemes could run script."""
    return url.lower().startswith(("http://", "https://"))


# --- controls -----------------------------------------------------------------------------------------------------


@register.simple_tag
def form_field(form: SectionForm, name: str, label: str, **options: Any) -> SafeString:
    """A field of the section itself. Options are those of `_control`."""
    ident = f"f-{form.section}-{name}"
    return _control(ident, name, form.values.get(name, ""), label, form.errors.get(name, ()), **options)


@register.simple_tag
def row_field(row: FormRow, name: str, label: str, **options: Any) -> SafeString:
    """A field of one row. Options are those of `_control`."""
    full = f"{row.list_name}-{row.index}-{name}"
    choices = CHOICES.get(f"{row.list_name}.{name}") or CHOICES.get(name)
    if choices:
        options["choices"] = [(code, word(code)) for code in choices]
    return _control(f"f-{full}", full, row.values.get(name, ""), label, row.errors.get(name, ()), **options)


def _control(
    ident: str,
    name: str,
    value: str,
    label: str,
    errors: Iterable[str],
    *,
    rows: int = 0,
    choices: Iterable[tuple[str, Any]] = (),
    empty: str = "–",
    kind: str = "text",
    help: str = "",
    wide: int = 0,
    keys: str = "",
    focus: bool = False,
    hide_label: bool = False,
    **attributes: str,
) -> SafeString:
    """Label, control, errors and help, tied together. rows: a text of several lines. choices: a list to choose from.

    keys: the list of elements whose keys belong here, several parted by commas. wide: columns of twelve.
    """
    errors = list(errors)
    described = [f"{ident}-e"] * bool(errors) + [f"{ident}-h"] * bool(help)
    attrs: dict[str, str] = {part.replace("_", "-"): text for part, text in attributes.items()}
    if described:
        attrs["aria-describedby"] = " ".join(described)
    if errors:
        attrs["aria-invalid"] = "true"
    if focus:
        attrs["data-focus"] = ""
    if keys:
        attrs |= {"list": f"keys-{keys}", "data-keys": "", "autocomplete": "off", "spellcheck": "false"}
    extra = format_html_join("", ' {}="{}"', attrs.items())
    if choices:
        known = list(choices)
        if value and value not in {code for code, _word in known}:
            known.append((value, value))
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((code, SafeString(" selected") if code == value else "", text) for code, text in [("", empty), *known]),
        )
        control = format_html(
            '<select class="form-select" id="{}" name="{}"{}>{}</select>', ident, name, extra, options
        )
    elif rows:
        # the first line end inside a textarea is not part of its text
        control = format_html(
            '<textarea class="form-control" id="{}" name="{}" rows="{}"{}>\n{}</textarea>',
            ident, name, rows, extra, value,
        )  # fmt: skip
    else:
        control = format_html(
            '<input class="form-control" id="{}" name="{}" type="{}" value="{}"{}>', ident, name, kind, value, extra
        )
    return format_html(
        '<div class="wb-field{}{}"><label class="wb-flabel{}" for="{}">{}</label>{}{}{}</div>',
        f" wb-w{wide}" if wide else "",
        " is-wrong" if errors else "",
        " wb-sr" if hide_label else "",
        ident,
        label,
        control,
        _notes(f"{ident}-e", errors),
        format_html('<div class="wb-help" id="{}-h">{}</div>', ident, help) if help else "",
    )


def _notes(ident: str, errors: Iterable[str]) -> SafeString:
    if not errors:
        return SafeString("")
    mark = SafeString('<svg class="wb-i wb-i-s" aria-hidden="true"><use href="#i-circle-x"/></svg>')
    items = format_html_join("", "<li>{} <span>{}</span></li>", ((mark, error) for error in errors))
    return format_html('<ul class="wb-ferrors" id="{}">{}</ul>', ident, items)


@register.simple_tag
def row_hidden(row: FormRow) -> SafeString:
    """The key of a row, or the one it would get."""
    name, value = ("key", row.key) if row.key else ("newkey", row.values.get("newkey", ""))
    return format_html(
        '<input type="hidden" name="{}-{}-{}" value="{}" data-key>', row.list_name, row.index, name, value
    )


@register.simple_tag
def row_name(row: FormRow) -> str:
    """What a row is called: Step 3, Node n2, …"""
    names = {
        "nodes": _("Node %(key)s"),
        "relations": _("Relation %(key)s"),
        "checklist": _("Step %(number)s"),
        "sources": _("Source %(key)s"),
        "images": _("Image %(key)s"),
        "rivals": _("Rival %(number)s"),
    }
    return names[row.list_name] % {"key": row.shown_key, "number": row.number}
