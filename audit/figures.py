"""What a set of documents is made of: counts, lengths, sources, coverage, and the table of its groups.

PURE: imports no Django. Documents are plain JSON values, as releases hold them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean, median
from typing import Any, Final

from annotation.addresses import detect_kind
from annotation.graph import depth

Document = Mapping[str, Any]
#: The ranges of each length: name, lowest and highest value.
RANGES: Final[dict[str, tuple[tuple[str, int, int | None], ...]]] = {
    "steps": (
        ("<10", 0, 9), ("10", 10, 10), ("11-12", 11, 12), ("13-15", 13, 15), ("16-18", 16, 18), ("19+", 19, None),
    ),
    "depth": (("<6", 0, 5), ("6-9", 6, 9), ("10-11", 10, 11), ("12+", 12, None)),
    "sources": (("0", 0, 0), ("1-6", 1, 6), ("7-8", 7, 8), ("9-10", 9, 10), ("11+", 11, None)),
}  # fmt: skip
NON_TEXT: Final = frozenset(("image", "pdf", "video", "map"))
SMALL: Final = 20  # items under which a group says little


class Summary:
    """Takes documents one by one, so that a large set never stands in memory."""

    def __init__(self) -> None:
        self.items = 0
        self.lengths: dict[str, list[int]] = {name: [] for name in RANGES}
        self.groups: dict[tuple[str, str], list[int]] = {}  # (scope, group) -> items, steps, sources
        self.kinds: Counter[str] = Counter()
        self.images: Counter[str] = Counter()
        self.with_evidence: Counter[str] = Counter()
        self.languages: Counter[str] = Counter()
        self.urls: set[str] = set()

    def add(self, document: Document, split: str = "") -> None:
        """Count one document."""
        lengths = lengths_of(document)
        for name, value in lengths.items():
            self.lengths[name].append(value)
        for group in groups_of(document) + ([("split", split)] if split else []):
            row = self.groups.setdefault(group, [0, 0, 0])
            row[0] += 1
            row[1] += lengths["steps"]
            row[2] += lengths["sources"]
        self.items += 1
        self.languages[document["language"]] += 1
        kinds = [_kind(source) for source in document["sources"]]
        self.kinds.update(kinds)
        self.urls.update(source["url"] for source in document["sources"])
        self.images.update(image["role"] for image in document["images"])
        evidence = NON_TEXT.intersection(kinds)
        if any(image["file"] for image in document["images"]):
            evidence |= {"image"}
        self.with_evidence.update(evidence)
        self.with_evidence["non_text"] += bool(evidence)
        self.with_evidence["pdf_video_map"] += bool(evidence - {"image"})

    def to_json(self) -> dict[str, Any]:
        """As plain JSON: items; total, mean, median, min and max of `steps`, `depth` and `sources`; different `urls`;
        sources by `kinds`, images by role; items `with` an image, PDF, video or map, with any (non_text) and with one
        of the last three; `languages`; and the `table`: scope, group, items, and the mean steps and sources of each.
        """
        order = {(scope, name): place for scope, ranges in RANGES.items() for place, (name, *_) in enumerate(ranges)}
        scopes = ("split", "category", "template", "tag", *RANGES)
        rows = sorted(self.groups.items(), key=lambda row: (scopes.index(row[0][0]), order.get(row[0], 0), row[0]))
        return {
            "items": self.items,
            **{name: _spread(values) for name, values in self.lengths.items()},
            "urls": len(self.urls),
            "kinds": dict(sorted(self.kinds.items())),
            "images": dict(sorted(self.images.items())),
            "with": {name: self.with_evidence[name] for name in (*sorted(NON_TEXT), "non_text", "pdf_video_map")},
            "languages": dict(sorted(self.languages.items())),
            "table": [
                {
                    "scope": scope,
                    "group": group,
                    "items": items,
                    "steps": round(steps / items, 1),
                    "sources": round(sources / items, 1),
                }
                for (scope, group), (items, steps, sources) in rows
            ],
        }


def summary(documents: Iterable[Document]) -> dict[str, Any]:
    """The figures of all documents: `Summary.to_json`. Without documents, zeros and nulls."""
    result = Summary()
    for document in documents:
        result.add(document)
    return result.to_json()


def lengths_of(document: Document) -> dict[str, int]:
    """`steps`, `depth` and `sources`. A checklist with a cycle has depth 0: no such item is ever locked."""
    at = {step["key"]: place for place, step in enumerate(document["checklist"])}
    needs = [[at[key] for key in step["prerequisites"] if key in at] for step in document["checklist"]]
    try:
        longest = depth(needs)
    except ValueError:
        longest = 0
    return {"steps": len(needs), "depth": longest, "sources": len(document["sources"])}


def groups_of(document: Document) -> list[tuple[str, str]]:
    """(scope, group) of every group of the table that the document is in: one of each scope, of `tag` any number."""
    groups = [("category", document["category"] or ""), ("template", document["template"] or "")]
    groups += [("tag", tag) for tag in document["operation_tags"]]
    return groups + [(name, _range_of(name, value)) for name, value in lengths_of(document).items()]


def _kind(source: Mapping[str, Any]) -> str:
    """The kind that was chosen, or where that says no more than “web”, what the URL looks like."""
    kind: str = source["kind"] or "web"
    return detect_kind(source["url"]) if kind == "web" else kind


def _range_of(name: str, value: int) -> str:
    return next(text for text, low, high in RANGES[name] if low <= value and (high is None or value <= high))


def _spread(values: list[int]) -> dict[str, Any]:
    if not values:
        return {"total": 0, "mean": None, "median": None, "min": None, "max": None}
    spread = {"total": sum(values), "mean": round(fmean(values), 2), "median": median(values)}
    return spread | {"min": min(values), "max": max(values)}


def percent(part: int, whole: int) -> int | None:
    """Halves rounded up; None of nothing."""
    return (200 * part + whole) // (2 * whole) if whole else None
