"""What `[[key]]` in the Markdown of an item leads to, and what its card says. Reads no database."""

from django.urls import reverse
from django.utils.translation import gettext as _

from lhdr_site.shared.markdown import Target

from .document import Document, Image, Source


def targets_of(document: Document, slug: str, stored: set[str]) -> dict[str, Target]:
    """Key of each element -> its place on the item's page and what it is. stored: hashes of the images kept here."""
    entity = {node.key: node.entity for node in document.nodes}
    targets = {}
    for node in document.nodes:
        about = "; ".join(f"{p.name}: {p.value}" for p in node.properties if p.name or p.value)
        targets[node.key] = Target(f"#node-{node.key}", _("Node"), node.entity or node.key, about)
    for relation in document.relations:
        ends = (
            f"{entity.get(relation.from_node, relation.from_node)} → {entity.get(relation.to_node, relation.to_node)}"
        )
        about = ": ".join(part for part in (relation.via, relation.description) if part)
        targets[relation.key] = Target(f"#relation-{relation.key}", _("Relation"), ends, about)
    for number, step in enumerate(document.checklist, 1):
        kind = _("Step %(number)s") % {"number": number}
        targets[step.key] = Target(f"#step-{step.key}", kind, step.conclusion, step.why_needed)
    for source in document.sources:
        targets[source.key] = _source(source)
    for image in document.images:
        targets[image.key] = _image(image, slug, image.sha256 in stored)
    return targets


def _source(source: Source) -> Target:
    return Target(f"#source-{source.key}", _("Source"), source.title or source.url, source.claim, source.url)


def _image(image: Image, slug: str, stored: bool) -> Target:
    full = reverse("annotation:image-file", args=[slug, image.sha256]) if stored else ""
    small = reverse("annotation:image-thumbnail", args=[slug, image.sha256]) if stored else ""
    title = image.alt or image.caption or image.key
    return Target(f"#image-{image.key}", _("Image"), title, image.caption if image.alt else "", "", small, full)
