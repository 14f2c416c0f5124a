"""Reads for text on its way to an item: one's own draft of a section, and the versions that it started from."""

from typing import Any

from .document import Document, read_document
from .models import Draft, Item, SaveKey


def section_base(item: Item, section: str, section_hash: str) -> Document | None:
    """The newest of the last revisions whose section had this hash, to merge from."""
    for document in item.revisions.order_by("-number").values_list("document", flat=True)[:50].iterator():
        revision = read_document(document)
        if revision.section_hashes[section] == section_hash:
            return revision
    return None


def form_base(item: Item, section: str, base_hash: str, form_key: str) -> str:
    """The version that a form's text goes on from.

    That is the one it was opened on; but where this form was saved before (the reply was lost, or the Back button
    brought it back) it is what that save wrote, so that nobody meets their own text as somebody else's.
    """
    if not form_key or item.section_hashes[section] == base_hash:
        return base_hash
    keys = SaveKey.objects.filter(item=item, key__startswith=f"{form_key}:").order_by("-revision_number")
    number = keys.values_list("revision_number", flat=True).first()
    if number is None:
        return base_hash
    return read_document(item.revisions.get(number=number).document).section_hashes[section]


def draft_of(item: Item, section: str, user: Any) -> Draft | None:
    """One's own unsaved text of a section."""
    return Draft.objects.filter(item=item, user=user, section=section).first()
