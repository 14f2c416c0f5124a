"""Reads for an item's page: the document with everything drawn and found about it. Opens no write transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from . import graph
from .checks import registry
from .document import SECTIONS, Document, elements, read_document
from .drawing import Drawing, draw_checklist, draw_graph
from .findings import find, finding_json, message_of
from .models import Benchmark, Comment, Item, Revision, StoredImage
from .permissions import may_change_coeditors, may_edit_item
from .states import EDITABLE_BY_AUTHORS, Gate, gate_status

CHECKS = registry()
PAGE_ORDER = ("question", "images", "design", "graph", "checklist", "sources", "metadata")
# Saving a section changes what these others show or are found to lack; unlinking may change any.
AFFECTED = {"question": ("sources",), "graph": ("question", "checklist", "sources"),
            "checklist": ("graph", "sources", "metadata")}  # fmt: skip
ELEMENT_WORD = {"nodes": "node", "relations": "relation", "checklist": "step", "sources": "source", "images": "image"}


@dataclass(frozen=True)
class ShownFinding:
    """A finding with the reason it was set aside, if it was and its content is still the same."""

    data: Mapping[str, Any]
    dismissed: Any = None  # a Dismissal

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def message(self) -> str:
        return message_of(self.data)

    @property
    def remedy(self) -> str:
        return str(_(self.data["remedy"]))

    @property
    def shown_level(self) -> str:
        return "dismissed" if self.dismissed else self.data["level"]

    @property
    def check(self) -> Any:
        return CHECKS.get(self.data["code"])


def current_findings(item: Item) -> list[ShownFinding]:
    """Findings of the present document: the stored ones, or computed now where the worker has not come to it yet."""
    if item.checked_hash == item.document_hash:
        findings = item.findings
    else:
        document = read_document(item.document)
        findings = [finding_json(f, document) for f in find(document, item.benchmark, item.pk)]
    dismissals = {d.subject: d for d in item.dismissals.select_related("by")}
    shown = []
    for finding in findings:
        dismissal = dismissals.get(finding["subject"])
        if dismissal and dismissal.fingerprint != finding["fingerprint"]:
            dismissal = None
        shown.append(ShownFinding(finding, dismissal if finding["level"] != "error" else None))
    return shown


def gates_of(item: Item) -> list[dict[str, Any]]:
    """The seven gates in their order, as the page shows them."""
    return [
        {"code": str(gate), "status": str(gate_status(item.gates.get(gate), gate, item.section_hashes))}
        | {k: v for k, v in item.gates.get(gate, {}).items() if k in ("by", "at", "revision")}
        for gate in Gate
    ]


class ShortGate(NamedTuple):
    """A gate as `gate_list` shows it."""

    code: str
    label: str
    status: str
    letter: str = ""
    title: str = ""


def labels_of(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    """Field of a document -> names of its slugs."""
    return {
        "category": dict(benchmark.categories.values_list("slug", "name")),
        "operation_tags": dict(benchmark.operation_tags.values_list("slug", "name")),
    }


@dataclass
class ItemPage:
    """All that the workbench shows of one item to one person."""

    item: Item
    user: Any
    findings: list[ShownFinding] = field(default_factory=list)

    @cached_property
    def document(self) -> Document:
        return read_document(self.item.document)

    @cached_property
    def may_edit(self) -> Any:
        return may_edit_item(self.user, self.item)

    @cached_property
    def may_share(self) -> Any:
        return may_change_coeditors(self.user, self.item)

    @property
    def slug(self) -> str:
        return self.item.benchmark.slug

    @property
    def number(self) -> int:
        return self.item.number

    @property
    def order(self) -> tuple[str, ...]:
        return PAGE_ORDER

    @cached_property
    def url(self) -> str:
        return reverse("annotation:item-page", args=[self.slug, self.number])

    @cached_property
    def dag(self) -> Drawing:
        known = self.document.step_positions
        wrong = (f.anchor for f in self.findings if f.level == "error" and f.anchor in known)
        return draw_checklist(self.document, dict.fromkeys(wrong, "error"), link=True)

    @cached_property
    def node_graph(self) -> Drawing:
        return draw_graph(self.document)

    @cached_property
    def coverage(self) -> graph.Coverage:
        return graph.coverage(self.document)

    @cached_property
    def figures(self) -> graph.Figures:
        return graph.item_figures(self.document)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Step key -> the number its row shows."""
        return {key: position + 1 for key, position in self.document.step_positions.items()}

    @cached_property
    def by_section(self) -> dict[str, list[ShownFinding]]:
        result: dict[str, list[ShownFinding]] = {name: [] for name in SECTIONS}
        for finding in self.findings:
            result[finding.section].append(finding)
        return result

    @cached_property
    def anchors(self) -> dict[str, str]:
        """Key of an element, field or section -> the part of the page that shows it."""
        result = {field: f"#{section}" for section, fields in SECTIONS.items() for field in fields}
        result |= {name: f"#{name}" for name in SECTIONS}
        return result | {e.key: f"#{ELEMENT_WORD[name]}-{e.key}" for name, e in elements(self.document)}

    @cached_property
    def flags(self) -> dict[str, list[ShownFinding]]:
        """Key of an element -> the errors and warnings about it that nobody set aside."""
        keys = {element.key for _name, element in elements(self.document)}
        result: dict[str, list[ShownFinding]] = {}
        for finding in self.findings:
            if finding.anchor in keys and finding.shown_level in ("error", "warning"):
                result.setdefault(finding.anchor, []).append(finding)
        return result

    @cached_property
    def notes(self) -> dict[str, list[ShownFinding]]:
        """Section -> the errors and warnings that are about no element of it, and that nobody set aside."""
        return {
            name: [f for f in found if f.anchor not in self.flags and f.shown_level in ("error", "warning")]
            for name, found in self.by_section.items()
        }

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """Section -> how many findings of each shown level."""
        levels = ("error", "warning", "info", "dismissed")
        return {
            name: {level: sum(f.shown_level == level for f in found) for level in levels}
            for name, found in self.by_section.items()
        }

    @cached_property
    def totals(self) -> dict[str, int]:
        """How many findings of each shown level."""
        return {
            level: sum(each[level] for each in self.counts.values())
            for level in ("error", "warning", "info", "dismissed")
        }

    @property
    def open_findings(self) -> int:
        return self.totals["error"] + self.totals["warning"]

    @cached_property
    def may_submit(self) -> bool:
        """Whether it is theirs to submit now; `submit_waits_for` says what stands in the way."""
        return self.item.state in EDITABLE_BY_AUTHORS and bool(self.may_edit)

    @property
    def submit_waits_for(self) -> str:
        errors = self.totals["error"]
        text = ngettext("%(n)d error to mend first", "%(n)d errors to mend first", errors)
        return text % {"n": errors} if errors else ""

    @cached_property
    def groups(self) -> list[tuple[str, list[ShownFinding]]]:
        """Findings by section in the order of the page, those set aside last in each."""
        return [
            (name, sorted(self.by_section[name], key=lambda f: bool(f.dismissed)))
            for name in PAGE_ORDER
            if self.by_section[name]
        ]

    @property
    def uncovered(self) -> int:
        return len(self.coverage.uncovered_nodes) + len(self.coverage.uncovered_relations)

    @property
    def upload_mb(self) -> int:
        return int(settings.UPLOAD_MAX_MB)

    @cached_property
    def digests(self) -> dict[str, str]:
        """Key of an image -> its hash, where its bytes are stored."""
        return {image.key: image.sha256 for image in self.document.images if image.sha256 in self.stored}

    @property
    def template_choices(self) -> list[tuple[str, str]]:
        return [("linear", _("Linear")), ("multi_branch", _("Multi-branch"))]

    @cached_property
    def element_labels(self) -> list[tuple[str, str]]:
        """Every element's key with what it is about."""
        about = {"nodes": "entity", "relations": "via", "checklist": "conclusion", "sources": "title", "images": "alt"}
        return [(e.key, getattr(e, about[name])) for name, e in elements(self.document)]

    @property
    def passed_checks(self) -> int:
        return len(CHECKS) - len({f.code for f in self.findings})

    @cached_property
    def supports(self) -> dict[str, list[str]]:
        """Source key -> keys of what it supports."""
        result: dict[str, list[str]] = {source.key: [] for source in self.document.sources}
        for node in self.document.nodes:
            for key in {*node.sources, *(s for p in node.properties for s in p.sources)}:
                result.setdefault(key, []).append(node.key)
        for relation in self.document.relations:
            for key in relation.sources:
                result.setdefault(key, []).append(relation.key)
        for step in self.document.checklist:
            for key in step.sources:
                result.setdefault(key, []).append(step.key)
        for key in self.document.answer_sources:
            result.setdefault(key, []).append("answer")
        for number, rival in enumerate(self.document.rivals, 1):
            for key in rival.sources:
                result.setdefault(key, []).append(f"rival {number}")
        return result

    @cached_property
    def stored(self) -> dict[str, StoredImage]:
        digests = [image.sha256 for image in self.document.images if image.sha256]
        return {
            image.sha256: image
            for image in StoredImage.objects.filter(benchmark=self.item.benchmark_id, sha256__in=digests)
        }

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """Names of the benchmark's categories and tags by slug; slugs that it does not have are left out."""
        return labels_of(self.item.benchmark)

    @cached_property
    def coeditors(self) -> list[Any]:
        return list(self.item.coeditors.order_by("username"))

    @cached_property
    def members(self) -> list[Any]:
        """Whom one may make a co-editor: the members but the author."""
        rows = self.item.benchmark.memberships.select_related("user").exclude(user=self.item.author_id)
        return [row.user for row in rows.filter(user__is_active=True).order_by("user__username")]

    @cached_property
    def open_threads(self) -> dict[str, int]:
        """Section -> open threads on it or on one of its elements; "" is the item."""
        section_of = {field: name for name, fields in SECTIONS.items() for field in fields}
        where = {e.key: section_of[name] for name, e in elements(self.document)} | {name: name for name in SECTIONS}
        result: dict[str, int] = {}
        if self.item.open_comments:
            for anchor in self.item.comments.filter(parent=None, resolved=None).values_list("anchor", flat=True):
                section = where.get(anchor, "")
                result[section] = result.get(section, 0) + 1
        return result

    @cached_property
    def gates(self) -> list[dict[str, Any]]:
        return gates_of(self.item)

    @cached_property
    def newest(self) -> Revision | None:
        return self.item.revisions.select_related("author").defer("document").order_by("-number").first()

    @property
    def newest_by(self) -> str:
        if self.newest is None:
            return ""
        author = self.newest.author
        return str(_("you")) if author == self.user else author.get_full_name() or author.get_username()

    @property
    def short_gates(self) -> list[ShortGate]:
        """The gates as the narrow outline names them."""
        words = {
            Gate.UNIQUENESS: _("Uniqueness"),
            Gate.LEAKAGE: _("No leakage"),
            Gate.IRREDUCIBILITY: _("Irreducible"),
            Gate.SOURCE_SUPPORT: _("Sources"),
            Gate.MULTIMODAL: _("Multimodal"),
            Gate.SHORTCUT: _("Shortcuts"),
            Gate.METADATA: _("Metadata"),
        }
        return [ShortGate(gate["code"], words[gate["code"]], gate["status"]) for gate in self.gates]

    @cached_property
    def marks(self) -> list[tuple[int, int]]:
        """What findings mark in the question; marks that overlap become one."""
        result: list[tuple[int, int]] = []
        for start, end in sorted(span for f in self.findings if not f.dismissed for span in f.spans):
            if result and start < result[-1][1]:
                result[-1] = (result[-1][0], max(end, result[-1][1]))
            else:
                result.append((start, end))
        return result

    @cached_property
    def mark_numbers(self) -> dict[str, str]:
        """Subject of a finding -> the numbers of its marks in the question, "1, 3"."""
        numbered = list(enumerate(self.marks, 1))
        return {
            f.subject: ", ".join(str(n) for n, (a, b) in numbered if any(a <= start < b for start, _end in f.spans))
            for f in self.findings
        }

    @cached_property
    def question_parts(self) -> list[tuple[str, int]]:
        """The question cut at its marks: (text, number of the mark, or 0)."""
        text, parts, at = self.document.question, [], 0
        for number, (start, end) in enumerate(self.marks, 1):
            parts += [(text[at:start], 0), (text[start:end], number)]
            at = end
        return [(part, number) for part, number in [*parts, (text[at:], 0)] if part]


def section_base(item: Item, section: str, section_hash: str) -> Document | None:
    """The newest of the last revisions whose section had this hash, to merge from."""
    for document in item.revisions.order_by("-number").values_list("document", flat=True)[:50].iterator():
        revision = read_document(document)
        if revision.section_hashes[section] == section_hash:
            return revision
    return None


def used_anchors(item: Item) -> set[str]:
    """What comments hang on: a key that was given up must not come back as something else."""
    return set(item.comments.exclude(anchor="").values_list("anchor", flat=True))


def item_page(item: Item, user: Any) -> ItemPage:
    return ItemPage(item, user, current_findings(item))


def revisions_of(item: Item) -> QuerySet[Revision]:
    """Newest first, without the documents."""
    return item.revisions.select_related("author").defer("document").order_by("-number")


def threads_of(item: Item) -> QuerySet[Comment]:
    """Comments that start a thread, with their replies."""
    return (
        item.comments.filter(parent=None)
        .select_related("author", "resolved_by")
        .prefetch_related("replies__author")
        .order_by("resolved", "-pk")
    )
