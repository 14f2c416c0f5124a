"""Parts of the item workbench: names of sections and choices, and the controls of section forms."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.addresses import deep_link, url_problem
from annotation.candidates import REASONS
from annotation.document import (
    EFFECTS,
    IMAGE_ROLES,
    MODALITIES,
    NODE_KINDS,
    RELATION_KINDS,
    SOURCE_KINDS,
    TEMPLATES,
    VOLATILITIES,
    Document,
    Source,
)
from annotation.forms.sections import FormRow, SectionForm, split_keys
from annotation.gates import gates_shown
from annotation.image_queries import Twin
from annotation.models import Item
from lhdr_site.shared.markdown import Target, render_markdown

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
    "audit": gettext_lazy("Audit"),  # unsaved text of a review
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
    "background": gettext_lazy("background knowledge"),
    "redundant": gettext_lazy("redundant"),
    "merged": gettext_lazy("merged into another step"),
    "unsupported": gettext_lazy("unsupported by sources"),
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
    "strike": REASONS,
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
    return mapping.get(key) if mapping else None  # a page may leave the mapping out


@register.filter
def numbered(keys: str, numbers: Mapping[str, int] | None) -> str:
    """Keys of steps, parted by commas, with the numbers their rows show: "3 (c3), 5 (c9)"."""
    known = numbers or {}
    return ", ".join(f"{known[key]} ({key})" if key in known else key for key in keys.split(", "))


@register.filter
def section_title(name: str) -> str:
    return str(TITLES.get(name, name))


@register.filter
def gates(item: Item) -> dict[str, dict[str, Any]]:
    """The seven gates of an item, for `gate_dots` and `gate_list`."""
    return gates_shown(item)


@register.filter
def word(code: str | None) -> str:
    """A choice of the document in words."""
    return str(WORDS.get(code, code)) if code else ""


@register.filter
def markdown(text: str, targets: Mapping[str, Target] | None = None) -> SafeString:
    """Markdown as HTML; with what an item's `[[key]]` leads to (`page.targets`), those are shown too."""
    return render_markdown(text, links=targets)


@register.filter
def sources_of(document: Document, keys: Iterable[str]) -> list[Source]:
    """The sources with these keys, in their order."""
    by_key = {source.key: source for source in document.sources}
    return [by_key[key] for key in keys if key in by_key]


@register.filter
def source_icon(kind: str | None) -> str:
    return SOURCE_ICONS.get(kind or "", "link")


@register.filter
def short_url(url: str) -> str:
    """A URL as people read it."""
    return url.removeprefix("https://").removeprefix("http://").removeprefix("www.").rstrip("/")


LOCATOR_HINTS: dict[str, str | Promise] = {
    "pdf": gettext_lazy("p. 12"),
    "video": gettext_lazy("03:41"),
    "audio": gettext_lazy("03:41"),
    "map": gettext_lazy("41.8902, 12.4922 or the name of the view"),
    "table": gettext_lazy("sheet and cell: Data!B7"),
    "wikipedia": gettext_lazy("heading of the section"),
}


@register.filter
def locator_hint(kind: str | None) -> str:
    """How the place in a source of this kind is written."""
    return str(LOCATOR_HINTS.get(kind or "", _("heading or paragraph")))


@register.filter
def keys_in(text: str | None) -> list[str]:
    """The keys of a control's text."""
    return split_keys(text or "")


@register.filter
def is_web_url(url: str) -> bool:
    """Whether it may become a link: only what is sound does; other schemes could run script."""
    return url_problem(url) is None


@register.simple_tag
def deep_link_to(source: Source) -> str:
    """The address of the very place that a source names, "" where none can be derived."""
    return deep_link(source.url, source.kind, source.locator, source.quote)


@register.simple_tag
def talk(page: Any, anchor: str, name: str) -> SafeString:
    """The marks beside a part of an item: its open comments with a way to write one, and a way to suggest an edit.

    name: what the part is called in the sentence that a screen reader says.
    """
    count = page.talk.get(anchor, 0)
    comment, edit = _("Comment on %(name)s") % {"name": name}, _("Suggest an edit of %(name)s") % {"name": name}
    return format_html(
        '<span class="wb-talk{has_talk}"><a href="{url}?panel=comments&amp;anchor={anchor}#panel" data-talk="{anchor}"'
        ' title="{comment}"><svg class="wb-i wb-i-s" aria-hidden="true"><use href="#i-message"/></svg>'
        '<span class="wb-sr">{comment}</span><span class="wb-count"{hidden}>{count}</span></a>'
        '<a href="{url}?panel=comments&amp;suggest={anchor}#panel" data-suggest="{anchor}" title="{edit}">'
        '<svg class="wb-i wb-i-s" aria-hidden="true"><use href="#i-edit"/></svg>'
        '<span class="wb-sr">{edit}</span></a></span>',
        url=page.url, anchor=anchor, comment=comment, edit=edit, count=count,
        has_talk=" has-talk" if count else "", hidden="" if count else SafeString(" hidden"),
    )  # fmt: skip


@register.simple_tag
def who_wrote(page: Any, key: str) -> SafeString:
    """A disclosure that says who wrote an element. A tag, because a page has one at each of its elements."""
    return format_html(
        '<details class="wb-who" hx-get="{written_url}?key={key}" hx-trigger="toggle once" hx-target="find .wb-who-b">'
        '<summary title="{say}"><svg class="wb-i wb-i-s" aria-hidden="true"><use href="#i-history"/></svg>'
        '<span class="wb-sr">{say}</span></summary>'
        '<div class="wb-who-b"><a href="{url}?panel=history&amp;element={key}#panel">{say}</a></div></details>',
        written_url=page.written_url, url=page.url, key=key, say=_("Who wrote %(key)s") % {"key": key},
    )  # fmt: skip


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
def choices_of(name: str) -> list[tuple[str, str]]:
    """The codes and words that a field can have."""
    return [(code, word(code)) for code in CHOICES[name]]


@register.simple_tag
def row_hidden(row: FormRow) -> SafeString:
    """The key of a row, or the one it would get."""
    name, value = ("key", row.key) if row.key else ("newkey", row.values.get("newkey", ""))
    return format_html(
        '<input type="hidden" name="{}-{}-{}" value="{}" data-key>', row.list_name, row.index, name, value
    )


def _row_names() -> dict[str, str]:
    return {
        "nodes": _("Node %(key)s"),
        "relations": _("Relation %(key)s"),
        "checklist": _("Step %(number)s"),
        "sources": _("Source %(key)s"),
        "images": _("Image %(key)s"),
        "rivals": _("Rival %(number)s"),
    }


@register.simple_tag
def row_name(row: FormRow) -> str:
    """What a row is called: Step 3, Node n2, …"""
    return _row_names()[row.list_name] % {"key": row.shown_key, "number": row.number}


@register.simple_tag
def row_pattern(name: str) -> str:
    """What the rows of a list are called, for the script that numbers them: Step {number}, Node {key}, …"""
    return _row_names()[name] % {"key": "{key}", "number": "{number}"}


@register.simple_tag
def twin_text(twin: Twin, slug: str) -> SafeString:
    """Where else a picture stands, with a link there."""
    if twin.number:
        place = format_html(
            '<a href="{}#image-{}">#{}</a>',
            reverse("annotation:item-page", args=[slug, twin.number]), twin.key, twin.number,
        )  # fmt: skip
    else:
        place = format_html('<a href="#image-{}">{}</a>', twin.key, twin.key)
    if twin.distance is None:
        return format_html(_("The same picture stands in {}."), place)
    return format_html(_("Nearly the same as in {} (distance {})."), place, twin.distance)
