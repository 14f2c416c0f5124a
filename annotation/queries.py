"""Reads for an item's page: the document with everything drawn and found about it. Opens no write transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from lhdr_site.shared.markdown import Target
from lhdr_site.shared.prepared import Prepared

from . import graph
from .anchors import find_place
from .document import SECTIONS, Document, elements, read_document
from .drawing import Drawing, draw_checklist
from .finding_queries import CHECKS, ShownFinding, current_findings
from .gates import gates_shown, heard
from .image_queries import Part, ShownImage, parts_of, shown_images
from .models import Benchmark, Draft, Item, Preferences, Revision, StoredImage, StruckStep, Suggestion
from .node_drawing import draw_graph
from .permissions import may_administer, may_change_coeditors, may_edit_item
from .planning import People, golden_items
from .references import targets_of
from .relations import RelationNote, relation_notes
from .reuse import Elsewhere, entities_elsewhere, sources_elsewhere
from .states import EDITABLE_BY_AUTHORS, State

LICENSES = (
    "CC0 1.0", "CC BY 4.0", "CC BY-SA 4.0", "CC BY-SA 3.0", "CC BY-NC 4.0", "CC BY-NC-SA 4.0", "CC BY-ND 4.0",
    "Public domain", "MIT", "OGL 3.0", "Own work, all rights reserved", "Fair use",
)  # fmt: skip
PAGE_ORDER = ("question", "images", "design", "graph", "checklist", "sources", "metadata")
# Saving a section changes what these others show or are found to lack; unlinking may change any.
AFFECTED = {"question": ("sources",), "graph": ("question", "checklist", "sources"),
            "checklist": ("graph", "sources", "metadata", "images"), "sources": ("images",),
            "images": ("checklist",)}  # fmt: skip
ELEMENT_WORD = {"nodes": "node", "relations": "relation", "checklist": "step", "sources": "source", "images": "image",
                "regions": "region"}  # fmt: skip


class Break(NamedTuple):
    """What would not hold without a step, as a page says it: numbers of steps, keys of the rest."""

    key: str
    number: int
    below: str  # keys of `steps`, parted by spaces
    steps: str
    nodes: str
    relations: str
    answer: bool


def breaks_of(document: Document, numbers: Mapping[str, int]) -> list[Break]:
    """For each step what rests on it alone; `numbers` are what its page calls them. Raises ValueError on a cycle."""
    return [
        Break(
            key,
            numbers[key],
            " ".join(b.descendants),
            ", ".join(str(numbers[step]) for step in b.descendants),
            ", ".join(b.nodes),
            ", ".join(b.relations),
            b.answer,
        )
        for key, b in graph.breakages(document).items()
    ]


# Asked by every page of an item.
_NEWEST = Prepared(
    lambda item: (
        Revision.objects.filter(item_id=item).select_related("author").defer("document").order_by("-number")[:1]
    ),
    "item",
)
_STRUCK = Prepared(lambda item: StruckStep.objects.filter(item_id=item, restored=None).select_related("by"), "item")


def labels_of(benchmark: Benchmark) -> dict[str, dict[str, str]]:
    """Field of a document -> names of its slugs."""
    return {
        "category": dict(benchmark.categories.values_list("slug", "name")),
        "operation_tags": dict(benchmark.operation_tags.values_list("slug", "name")),
    }


class Removal(NamedTuple):
    """What an anchor that is gone was: a word for the kind of element, and the revision that came without it."""

    word: str
    revision: int


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
    def may_take_down(self) -> Any:
        """Whether the person may take pictures of the benchmark away for good."""
        return may_administer(self.user, self.item.benchmark)

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
    def written_url(self) -> str:
        return reverse("annotation:element-history", args=[self.slug, self.number])

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
    def relation_notes(self) -> dict[str, list[RelationNote]]:
        """Relation key -> what is amiss with it."""
        notes: dict[str, list[RelationNote]] = {}
        for note in relation_notes(self.document):
            notes.setdefault(note.key, []).append(note)
        return notes

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

    @property
    def question_notes(self) -> dict[str, list[ShownFinding]]:
        """Notes of the question section, beside the question and beside the answer."""
        about_question = [f for f in self.notes["question"] if f.anchor == "question"]
        return {"question": about_question, "answer": [f for f in self.notes["question"] if f.anchor != "question"]}

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

    @cached_property
    def since_last_save(self) -> str:
        """What the newest revision changed in the findings: "2 mended, 1 new"; nothing when nothing did."""
        mended = self.item.mended if self.item.checked_revision == self.item.revision_number > 1 else 0
        new = sum(f.is_new for f in self.findings)
        parts = [
            (mended, ngettext("%(n)d mended", "%(n)d mended", mended)),
            (new, ngettext("%(n)d new", "%(n)d new", new)),
        ]
        return ", ".join(text % {"n": count} for count, text in parts if count)

    @cached_property
    def may_be_quiet(self) -> bool:
        """Whether it is a draft of theirs, in which findings may wait until they ask."""
        return self.item.state in EDITABLE_BY_AUTHORS and bool(self.may_edit)

    @cached_property
    def is_quiet(self) -> bool:
        return self.may_be_quiet and Preferences.objects.filter(user=self.user, quiet_checks=True).exists()

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
        about = {"nodes": "entity", "relations": "via", "checklist": "conclusion", "sources": "title", "images": "alt",
                 "regions": "note"}  # fmt: skip
        return [(e.key, getattr(e, about[name])) for name, e in elements(self.document)]

    @cached_property
    def targets(self) -> dict[str, Target]:
        """Key of an element -> what `[[key]]` shows, in the design and in comments."""
        return targets_of(self.document, self.slug, set(self.digests.values()))

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
    def unsupported(self) -> list[tuple[str, str]]:
        """(key, what it is called) of what the check of missing sources names, in its order."""
        found = [f.anchor for f in self.findings if f.code == "missing_source"]
        names = self.numbers
        called = {key: _("step %(n)s") % {"n": names[key]} if key in names else key for key in found}
        return [(key, _("the answer") if key == "answer_sources" else called[key]) for key in found]

    @cached_property
    def sources_elsewhere(self) -> dict[str, Elsewhere]:
        """Source key -> other items that use the same page."""
        urls = {source.key: source.url for source in self.document.sources}
        found = sources_elsewhere(self.item.benchmark, urls.values(), without=self.item.pk)
        return {key: found[url] for key, url in urls.items() if url in found}

    @cached_property
    def nodes_elsewhere(self) -> dict[str, Elsewhere]:
        """Node key -> other items with a node of the same name."""
        names = {node.key: node.entity for node in self.document.nodes}
        found = entities_elsewhere(self.item.benchmark, names.values(), without=self.item.pk)
        return {key: found[name] for key, name in names.items() if name in found}

    @cached_property
    def stored(self) -> dict[str, StoredImage]:
        digests = [image.sha256 for image in self.document.images if image.sha256]
        return {
            image.sha256: image
            for image in StoredImage.objects.filter(benchmark=self.item.benchmark_id, sha256__in=digests)
        }

    @cached_property
    def pictures(self) -> list[ShownImage]:
        return shown_images(self.item, self.document, self.stored)

    @property
    def licenses(self) -> tuple[str, ...]:
        """What a picture's licence usually is."""
        return LICENSES

    @property
    def fetches_waiting(self) -> str:
        """Keys of the images that wait to be fetched, separated by commas."""
        return ",".join(sorted(shown.key for shown in self.pictures if shown.fetch and shown.fetch.status == "waiting"))

    @cached_property
    def parts(self) -> dict[str, Part]:
        """What steps name as evidence: images and regions by key."""
        return parts_of(self.document, {digest for digest, image in self.stored.items() if not image.tombstone})

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """Names of the benchmark's categories and tags by slug; slugs that it does not have are left out."""
        return labels_of(self.item.benchmark)

    @cached_property
    def people(self) -> People:
        return People(self.item, self.user)

    @cached_property
    def golden(self) -> list[Item]:
        """Examples to follow, beside a draft that is still empty."""
        if self.item.state != State.DRAFT or self.document.question or self.document.checklist:
            return []
        return list(golden_items(self.item.benchmark)[:5])

    @property
    def seed(self) -> Any:
        """The idea it was started from, if any."""
        return getattr(self.item, "seed", None)

    @cached_property
    def coeditors(self) -> list[Any]:
        return list(self.item.coeditors.order_by("username"))

    @cached_property
    def members(self) -> list[Any]:
        """Whom one may make a co-editor: the members but the author."""
        rows = self.item.benchmark.memberships.select_related("user").exclude(user=self.item.author_id)
        return [row.user for row in rows.filter(user__is_active=True).order_by("user__username")]

    @cached_property
    def talk(self) -> dict[str, int]:
        """Element's key, field or section -> open threads and suggestions at or in it; "all" is their number."""
        suggestions = heard(self.item.suggestions.filter(status=Suggestion.Status.OPEN), self.item, self.user)
        anchors = list(suggestions.values_list("path", flat=True))
        if self.item.open_comments:
            threads = heard(self.item.comments.filter(parent=None, resolved=None), self.item, self.user)
            anchors += threads.values_list("anchor", flat=True)
        result = {"all": len(anchors)}
        for anchor in anchors:
            place = find_place(self.item.document, anchor)
            for name in {anchor, place.key or anchor, place.section} if place else {""}:
                result[name] = result.get(name, 0) + 1
        return result

    @cached_property
    def drafts(self) -> dict[str, Draft]:
        """Section -> one's own unsaved text of it."""
        return {draft.section: draft for draft in Draft.objects.filter(item=self.item, user=self.user)}

    @cached_property
    def gates(self) -> dict[str, dict[str, Any]]:
        return gates_shown(self.item)

    @cached_property
    def newest(self) -> Revision | None:
        return next(iter(_NEWEST.objects(item=self.item.pk)), None)

    @property
    def newest_by(self) -> str:
        if self.newest is None:
            return ""
        author = self.newest.author
        return str(_("you")) if author == self.user else author.get_full_name() or author.get_username()

    @cached_property
    def struck(self) -> list[StruckStep]:
        """Candidates that were struck and not taken back, oldest first."""
        return _STRUCK.objects(item=self.item.pk)

    @cached_property
    def breaks(self) -> list[Break]:
        return breaks_of(self.document, self.numbers)

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


def used_anchors(item: Item) -> set[str]:
    """What comments hang on and what was struck: a key that was given up must not come back as something else."""
    comments = item.comments.exclude(anchor="").order_by().values_list("anchor", flat=True)
    return set(comments.union(item.struck_steps.order_by().values_list("key", flat=True)))


def present_revision(item: Item) -> Revision:
    """The revision that the item is at, without its document: for what is bound to what somebody saw."""
    return Revision.objects.only("pk").get(item=item, number=item.revision_number)


def has_been(item: Item, anchor: str) -> bool:
    """Whether an anchor is a place of the item now, or was one in an earlier revision."""
    return bool(find_place(item.document, anchor)) or anchor in removals_of(item, {anchor})


def removals_of(item: Item, anchors: set[str]) -> dict[str, Removal]:
    """Anchor that the document no longer has -> what it was and the first revision without it, newest first."""
    result: dict[str, Removal] = {}
    left, after = set(anchors), item.revision_number
    if not left:
        return result
    revisions = item.revisions.order_by("-number").values_list("number", "document")
    for number, document in revisions.iterator(chunk_size=20):
        for anchor in list(left):
            if place := find_place(document, anchor):
                result[anchor] = Removal(ELEMENT_WORD.get(place.list_name, ""), after)
                left.discard(anchor)
        if not left:
            break
        after = number
    return result


def item_page(item: Item, user: Any) -> ItemPage:
    return ItemPage(item, user, current_findings(item))
