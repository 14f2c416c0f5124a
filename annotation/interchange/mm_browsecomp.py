"""MM-BrowseComp in its own, encrypted form: nothing of a row is dropped; docs/formats.md says what is kept where.

PURE: imports no Django; of lhdr_site only the cipher.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

from annotation.document import Document, DocumentError, Problem, read_document
from annotation.interchange.files import LocalImage, Reading, chained, slug_of, without_fractions
from lhdr_site.shared.cipher import WrongCanary, decrypt

NAMESPACE: Final = UUID("5b1f3c0e-5c1d-4a53-9d5e-3f0a6f0c9b61")
CATEGORIES: Final = {"Academics": "academia"}  # the others differ from our slugs only in capitals

# "1.https://…", "[2] https://…", "3.a label：https://…", and what stands behind the address, like "(17:30)".
_ADDRESS: Final = re.compile(
    r"\s*(?:\[?\d+(?:[.)、\]]|\s)\s*[^\s:/?#]*?[:：]?)?\s*(https?://\S+)\s*(.*?)\s*", re.DOTALL
)
_TEXTS: Final = ("question", "answer", "category", "subtask", "canary")
_LISTS: Final = ("checklist", "source", "images")
# Fields that have one place in the document and stand there unchanged, so that `extra` need not repeat them.
_PLACED: Final = frozenset(("question", "answer", "checklist", "source", "images", "canary"))


def read_row(row: Mapping[str, Any], reading: Reading) -> tuple[Document, list[LocalImage], list[str]]:
    """The document of a row: id derived from benchmark and original id, texts deciphered, steps without prerequisites.

    Raises DocumentError with every problem of the row. Pictures are addresses only.
    """
    problems = [
        Problem(name, "must be text; take the row from the published file")
        for name in _TEXTS
        if not isinstance(row.get(name), str)
    ]
    problems += [
        Problem(name, "must be a list of texts; take the row from the published file")
        for name in _LISTS
        if not isinstance(row.get(name), list) or not all(isinstance(element, str) for element in row[name])
    ]
    if isinstance(row.get("id"), bool) or not isinstance(row.get("id"), (int, str)) or row["id"] == "":
        problems.append(Problem("id", "must be the number of the row; take the row from the published file"))
    if problems:
        raise DocumentError(problems)

    def clear(text: str, path: str) -> str:
        try:
            return decrypt(text, row["canary"])
        except WrongCanary:
            problems.append(Problem(path, "wrong canary: with it the text cannot be read; give the file's own"))
            return ""

    steps = [
        {"key": f"c{n}", "conclusion": clear(step, f"checklist[{n - 1}]"), "prerequisites": []}
        for n, step in enumerate(row["checklist"], 1)
    ]
    data = {
        "id": str(uuid5(NAMESPACE, f"{reading.benchmark}/mm-browsecomp/{row['id']}")),
        "language": "en",
        "question": clear(row["question"], "question"),
        "answer": clear(row["answer"], "answer"),
        "category": CATEGORIES.get(row["category"], slug_of(row["category"])) or None,
        "subtask": row["subtask"],
        "checklist": chained(steps) if reading.linear_prerequisites else steps,
        "sources": [_source(f"s{n}", text) for n, text in enumerate(row["source"], 1)],
        "images": [{"key": f"i{n}", "url": url, "role": "question"} for n, url in enumerate(row["images"], 1)],
        "canary": row["canary"],
        "extra": {"mm_browsecomp": without_fractions({name: row[name] for name in row if name not in _PLACED})},
    }
    if problems:
        raise DocumentError(problems)
    return read_document(data), [], []


def _source(key: str, text: str) -> dict[str, Any]:
    found = _ADDRESS.fullmatch(text)
    url, behind = found.groups() if found else (text, "")
    changed = {"original": text} if url != text else {}
    return {"key": key, "url": url, "locator": behind.strip("() （）"), "extra": changed}
