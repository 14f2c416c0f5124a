"""Reads of an item's findings, with who set which aside and which are new. Opens no write transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from .checks import registry
from .document import read_document
from .findings import aged, find, finding_json, message_of
from .models import Item

CHECKS = registry()


@dataclass(frozen=True)
class ShownFinding:
    """A finding with the reason it was set aside, if it was and its content is still the same."""

    data: Mapping[str, Any]
    dismissed: Any = None  # a Dismissal
    is_new: bool = False  # the newest revision brought it

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
        findings = aged([finding_json(f, document) for f in find(document, item.benchmark, item.twins)], item)[0]
    dismissals = {d.subject: d for d in item.dismissals.select_related("by")}
    shown = []
    for finding in findings:
        dismissal = dismissals.get(finding["subject"])
        if dismissal and dismissal.fingerprint != finding["fingerprint"]:
            dismissal = None
        if finding["level"] == "error":
            dismissal = None
        news = finding.get("since", 1) == item.revision_number > 1 and finding["level"] != "info" and not dismissal
        shown.append(ShownFinding(finding, dismissal, news))
    return shown
