"""The evidence of the audit page, computed when a template asks for it. Reads only."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from annotation import graph
from annotation.benchmarks import Item
from annotation.document import Document, Source
from annotation.drawing import Drawing, draw_checklist
from annotation.image_queries import Part, parts_of
from annotation.models import StoredImage
from annotation.node_drawing import draw_graph
from annotation.queries import labels_of

from .models import Probe
from .queries import CandidateRow, candidate_rows
from .rows import Picture, Piece, StepRow, marked, ranges

SHOWN_PROBES = 20


@dataclass
class Evidence:
    """An item's present document with all that can be seen of it."""

    item: Item
    document: Document

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of each category and tag of the benchmark, by slug."""
        labels = labels_of(self.item.benchmark)
        return labels["category"] | labels["operation_tags"]

    @property
    def category(self) -> str:
        slug = self.document.category or "–"
        return self.names.get(slug, slug)

    @property
    def tags(self) -> str:
        return ", ".join(self.names.get(slug, slug) for slug in self.document.operation_tags) or "–"

    @cached_property
    def _source_at(self) -> dict[str, Source]:
        return {source.key: source for source in self.document.sources}

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        return self.item.findings if self.item.checked_hash == self.item.document_hash else []

    @cached_property
    def leaks(self) -> list[dict[str, Any]]:
        """Findings that mark a place of the question."""
        return [finding for finding in self.findings if finding["spans"]]

    @cached_property
    def question(self) -> list[Piece]:
        return marked(self.document.question, self.leaks)

    @cached_property
    def stored(self) -> dict[str, str]:
        """Hashes of the item's pictures that were stored -> why they were taken down, "" where they are there."""
        named = [image.sha256 for image in self.document.images if image.sha256]
        found = StoredImage.objects.filter(benchmark=self.item.benchmark, sha256__in=named)
        return dict(found.values_list("sha256", "tombstone"))

    @cached_property
    def pictures(self) -> list[Picture]:
        stored = self.stored
        return [Picture(i, stored.get(i.sha256) == "", stored.get(i.sha256, "")) for i in self.document.images]

    @cached_property
    def parts(self) -> dict[str, Part]:
        """Key of an image or a region -> how it is shown as evidence."""
        return parts_of(self.document, {digest for digest, reason in self.stored.items() if not reason})

    @property
    def question_pictures(self) -> list[Picture]:
        return [picture for picture in self.pictures if picture.image.role == "question"]

    @cached_property
    def drawn_graph(self) -> Drawing:
        return draw_graph(self.document)

    @cached_property
    def drawn_checklist(self) -> Drawing:
        return draw_checklist(self.document)

    @cached_property
    def figures(self) -> graph.Figures:
        return graph.item_figures(self.document)

    @cached_property
    def structure(self) -> dict[str, int]:
        needs = self.document.prerequisite_positions()
        return {
            "sinks": len(graph.sinks(needs)),
            "dead": len(graph.dead_steps(needs)),
            "redundant": len(graph.redundant_edges(needs)),
        }

    @cached_property
    def steps(self) -> list[StepRow]:
        at = self.document.step_positions
        last = len(self.document.checklist)
        rows = []
        for number, step in enumerate(self.document.checklist, 1):
            broken = graph.what_breaks(self.document, step.key)
            below = [at[key] + 1 for key in broken.descendants]
            if below and len(below) == last - 1:
                loses = _("all others")
            else:
                loses = ranges(below) or (_("final step") if number == last else _("nothing"))
            shown = [self.parts[key] for key in step.images if key in self.parts]
            rows.append(StepRow(number, step, loses, broken.answer, shown))
        return rows

    @cached_property
    def candidates(self) -> list[CandidateRow]:
        return candidate_rows(self.item)

    @cached_property
    def probed(self) -> list[Probe]:
        """What systems answered when they were probed, the newest first."""
        rows = Probe.objects.filter(item=self.item, status=Probe.Status.COMPLETED).exclude(text="")
        return list(rows.defer("judge_output", "section_hashes").order_by("-pk")[:SHOWN_PROBES])

    @cached_property
    def non_text_steps(self) -> list[StepRow]:
        return [row for row in self.steps if graph.is_non_text(row.step.modality)]
