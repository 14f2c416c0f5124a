"""The layout of the paper's public evaluator: `metadata.jsonl` and `images/`; texts as cipher under the row's canary.

PURE: imports no Django; of lhdr_site only the cipher. docs/formats.md says which field is kept where.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from annotation.document import TEMPLATES, Document, DocumentError, Problem, canonical_bytes, read_document
from annotation.graph import topological_order
from annotation.interchange.files import (
    LocalImage,
    Reading,
    chained,
    load_json,
    picture_in_data_url,
    slug_of,
    without_fractions,
)
from annotation.interchange.lhdr import plain, take_pictures
from lhdr_site.shared.cipher import WrongCanary, decrypt, encrypt

# What the evaluator or we read; any other field of a row is kept in `extra.mr_lhdr` and written out again.
_TEXTS: Final = ("id", "language", "question", "category", "type", "canary")
_LISTS: Final = ("answer", "checklist", "checklist_parents", "images", "sources")
FIELDS: Final = frozenset((*_TEXTS, *_LISTS, "lhdr"))
_SOURCE_TEXTS: Final = ("url", "title", "claim", "quote", "locator")


def read_row(row: Mapping[str, Any], reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document of a row with the pictures it needs. A row that we wrote gives the very document it was made from.

    Raises DocumentError with every problem of the row.
    """
    if "lhdr" in row:
        return take_pictures(_document_within(row), reading)
    problems: list[Problem] = []
    canary = _text(row, "canary", problems)

    def clear(text: str, path: str) -> str:
        if not canary:
            return text
        try:
            return decrypt(text, canary)
        except WrongCanary:
            message = "wrong canary: with it the text cannot be read; give the row's own, or leave it out if plain"
            problems.append(Problem(path, message))
            return ""

    question = clear(_text(row, "question", problems, "must be the text of the question"), "question")
    answer = [clear(line, f"answer[{n}]") for n, line in enumerate(_texts(row, "answer", problems, None))]
    steps = [clear(step, f"checklist[{n}]") for n, step in enumerate(_texts(row, "checklist", problems))]
    parents = _parents(row.get("checklist_parents"), len(steps), problems)
    checklist = [
        {"key": f"c{n}", "conclusion": step, "prerequisites": [f"c{parent + 1}" for parent in needs]}
        for n, (step, needs) in enumerate(zip(steps, parents, strict=True), 1)
    ]
    images, taken = _images(row, reading, problems)
    kept = {name: value for name, value in row.items() if name not in FIELDS}
    category, template = _text(row, "category", problems), _text(row, "type", problems)
    if slug_of(category) != category:
        kept["category"] = category
    if (known := slug_of(template).replace("-", "_")) != template or known not in ("", *TEMPLATES):
        kept["type"] = template
    data = {
        "id": _text(row, "id", problems),
        "language": _text(row, "language", problems) or "en",
        "question": question,
        "answer": "\n".join(answer),
        "category": slug_of(category) or None,
        "template": known if known in TEMPLATES else None,
        "checklist": chained(checklist) if reading.linear_prerequisites else checklist,
        "sources": _sources(row.get("sources"), problems),
        "images": images,
        "canary": canary,
        "extra": {"mr_lhdr": without_fractions(kept)} if kept else {},
    }
    try:
        document = read_document(data)
    except DocumentError as error:
        named = {problem.path for problem in problems}
        raise DocumentError(problems + [p for p in error.problems if p.path not in named]) from None
    if problems:
        raise DocumentError(problems)
    return document, taken, []


def _text(row: Mapping[str, Any], name: str, problems: list[Problem], missing: str = "") -> str:
    value = row.get(name)
    if isinstance(value, str) and (value or not missing):
        return value
    if value is not None or missing:
        problems.append(Problem(name, missing or "must be text; write it in quotes"))
    return ""


def _texts(row: Mapping[str, Any], name: str, problems: list[Problem], missing: Any = ()) -> list[str]:
    value = row.get(name, missing)
    if isinstance(value, (list, tuple)) and all(isinstance(element, str) for element in value):
        return list(value)
    problems.append(Problem(name, 'must be a list of texts, like ["…", "…"]'))
    return []


def _parents(value: Any, count: int, problems: list[Problem]) -> list[list[int]]:
    """For each step the 0-based positions of its prerequisites; empty lists where they cannot be read."""
    empty: list[list[int]] = [[] for _ in range(count)]
    if value is None and not count:
        return empty
    if not isinstance(value, list) or len(value) != count:
        given = f"{len(value)} lists" if isinstance(value, list) else "none"
        message = f"must hold one list per step ({count}), not {given}; give [] for a step that needs nothing"
        problems.append(Problem("checklist_parents", message))
        return empty
    for step, needs in enumerate(value):
        path = f"checklist_parents[{step}]"
        if not isinstance(needs, list) or any(isinstance(need, bool) or not isinstance(need, int) for need in needs):
            problems.append(Problem(path, "must be a list of whole numbers: 0-based positions of earlier steps"))
        elif wrong := [need for need in needs if not 0 <= need < step]:
            earlier = f"0 to {step - 1}" if step else "none, as this is the first"
            message = f"{wrong[0]} is no earlier step ({earlier}); put the steps into an order that builds up"
            problems.append(Problem(path, message))
        else:
            empty[step] = needs
    return empty


def _images(
    row: Mapping[str, Any], reading: Reading, problems: list[Problem]
) -> tuple[list[dict[str, Any]], list[LocalImage]]:
    images: list[dict[str, Any]] = []
    taken: list[LocalImage] = []
    for number, reference in enumerate(_texts(row, "images", problems), 1):
        image: dict[str, Any] = {"key": f"i{number}", "role": "question"}
        images.append(image)
        if reference.lower().startswith(("http://", "https://")):
            image["url"] = reference
            continue
        embedded = reference.lower().startswith("data:")
        try:
            if embedded:
                picture = picture_in_data_url(reference, image["key"])
            else:
                picture = reading.images.take(reference, image["key"])
        except ValueError as error:
            problems.append(Problem(f"images[{number - 1}]", str(error)))
            continue
        taken.append(picture)
        measured = ("sha256", "media_type", "width", "height")
        image |= {"file": picture.name, **{name: getattr(picture, name) for name in measured}}
        if not embedded and reference != picture.name:
            image["extra"] = {"original": reference}
    return images, taken


def _sources(value: Any, problems: list[Problem]) -> list[dict[str, Any]]:
    """Sources from URLs, or from objects, of which the texts that we know are taken and the rest is kept."""
    if value is None:
        return []
    if not isinstance(value, list):
        problems.append(Problem("sources", "must be a list of URLs or of objects with a url"))
        return []
    sources: list[dict[str, Any]] = []
    for number, given in enumerate(value, 1):
        if isinstance(given, str):
            sources.append({"key": f"s{number}", "url": given})
        elif isinstance(given, dict):
            known = {name: text for name in _SOURCE_TEXTS if isinstance(text := given.get(name), str)}
            other = {name: inner for name, inner in given.items() if name not in known}
            sources.append({"key": f"s{number}", **known, "extra": without_fractions(other)})
        else:
            problems.append(Problem(f"sources[{number - 1}]", "must be a URL or an object with a url"))
    return sources


# --- rows of ours -------------------------------------------------------------------------------------------------


def write_mr_lhdr(documents: Iterable[Document | Mapping[str, Any]], canary: str = "") -> Iterator[bytes]:
    """One line per document in the evaluator's layout, as cipher under its own canary or else the one given.

    Without either the text is plain. Raises ValueError, naming the item, for a checklist with a cycle.
    """
    for document in documents:
        yield canonical_bytes(to_row(plain(document), canary)) + b"\n"


def to_row(document: Mapping[str, Any], canary: str = "") -> dict[str, Any]:
    """The row of one document (plain JSON). Raises ValueError for a checklist with a cycle.

    Steps come in an order in which each follows what it needs: `lhdr.steps` lists their keys. It is the document's
    order if that is such an order. `lhdr.document` is the whole document, which the layout has no room for.
    """
    canary = document["canary"] or canary

    def hide(text: str) -> str:
        return encrypt(text, canary) if canary else text

    order = export_order(document)
    steps = [document["checklist"][position] for position in order]
    place = {step["key"]: number for number, step in enumerate(steps)}
    row = {
        "id": document["id"],
        "language": document["language"],
        "question": hide(document["question"]),
        "answer": [hide(line) for line in document["answer"].split("\n")],
        "checklist": [hide(step["conclusion"]) for step in steps],
        "checklist_parents": [sorted(place[key] for key in step["prerequisites"] if key in place) for step in steps],
        "images": [
            image["file"] or image["url"]
            for image in document["images"]
            if image["role"] == "question" and (image["file"] or image["url"])
        ],
        "category": document["category"] or "",
        "type": document["template"] or "",
        "sources": [source["url"] for source in document["sources"]],
        "lhdr": {
            "steps": [step["key"] for step in steps],
            # Escaped to ASCII, as control characters in the deciphered text would be taken for a wrong canary.
            "document": hide(json.dumps(document, sort_keys=True)) if canary else document,
        },
    }
    if canary:
        row["canary"] = canary
    kept = document["extra"].get("mr_lhdr")
    others = {name: value for name, value in kept.items() if name not in FIELDS} if isinstance(kept, dict) else {}
    return {**others, **row}


def export_order(document: Mapping[str, Any]) -> list[int]:
    """The positions of the document's steps in the order in which its row has them. Raises ValueError for a cycle."""
    at = {step["key"]: position for position, step in enumerate(document["checklist"])}
    needs = [[at[key] for key in step["prerequisites"] if key in at] for step in document["checklist"]]
    try:
        return topological_order(needs)
    except ValueError as error:
        raise ValueError(f"item {document['id']}: {error}") from None


def _document_within(row: Mapping[str, Any]) -> Document:
    """The document that a row of ours carries. Raises DocumentError, also if the row was changed beside it."""
    inner = row["lhdr"].get("document") if isinstance(row["lhdr"], dict) else None
    canary = row.get("canary", "")
    remedy = "take the field `lhdr` out to import only what the layout holds"
    if not isinstance(canary, str):
        raise DocumentError([Problem("canary", "must be text; write it in quotes")])
    if isinstance(inner, str):
        try:
            inner = load_json(decrypt(inner, canary).encode())
        except WrongCanary:
            raise DocumentError([Problem("canary", "wrong canary: with it the row cannot be read")]) from None
        except (ValueError, RecursionError):
            raise DocumentError([Problem("lhdr.document", f"is damaged; {remedy}")]) from None
    if not isinstance(inner, dict):
        raise DocumentError([Problem("lhdr.document", f"is missing; {remedy}")])
    document = read_document(inner)
    try:
        written = to_row(document.to_json(), canary)
    except ValueError as error:
        raise DocumentError([Problem("lhdr.document", str(error))]) from None
    changed = sorted(name for name in (FIELDS | set(row)) - {"lhdr"} if row.get(name) != written.get(name))
    if changed:
        message = "was changed after the row was written, but the document within was not; restore it, or " + remedy
        raise DocumentError([Problem(name, message) for name in changed])
    return document
