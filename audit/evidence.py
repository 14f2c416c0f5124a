"""What a person ticks, one by one: the elements whose sources must support them, and the sources themselves.

PURE: imports no Django, only `annotation.document` and `annotation.folding`.
"""

from collections.abc import Mapping
from typing import Any

from annotation.document import canonical_hash
from annotation.folding import fold

ANSWER = "answer"
_SUPPORTED = ("nodes", "relations", "checklist")


def elements_to_tick(document: Mapping[str, Any], criterion: str) -> list[str]:
    """Keys in document order: for `support` every node, relation, step and the answer; for `urls` every source.

    document: a complete item document as plain JSON. Every other criterion has none.
    """
    if criterion == "support":
        return [element["key"] for name in _SUPPORTED for element in document[name]] + [ANSWER]
    if criterion == "urls":
        return [source["key"] for source in document["sources"]]
    return []


def content_hashes(document: Mapping[str, Any]) -> dict[str, str]:
    """Hash of what a tick is about, per element: the element with all sources it names; a source alone.

    A tick holds as long as this hash is the same, whatever else of the item changed.
    """
    sources = {source["key"]: source for source in document["sources"]}

    def with_sources(value: Any, keys: list[str]) -> str:
        return canonical_hash([value, [sources.get(key) for key in keys]])

    hashes = {key: canonical_hash(source) for key, source in sources.items()}
    for name in _SUPPORTED:
        for element in document[name]:
            inner = [key for part in element.get("properties", []) for key in part["sources"]]
            hashes[element["key"]] = with_sources(element, [*element["sources"], *inner])
    answer = [document[name] for name in ("question", "answer", "answer_aliases", "answer_sources", "as_of")]
    hashes[ANSWER] = with_sources(answer, document["answer_sources"])
    return hashes


def ruling_out(document: Mapping[str, Any], answer: str) -> str:
    """The constraint by which the document's rivals rule an answer out; "" when none of them does.

    Answers are compared folded (case, accents, white space).
    """
    wanted = fold(answer)
    said = (rival["excluded_by"].strip() for rival in document["rivals"] if fold(rival["answer"]) == wanted)
    return next(filter(None, said), "")
