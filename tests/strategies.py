"""Hypothesis strategies for checklist graphs and item documents. Imports no Django."""

from typing import Any

from hypothesis import strategies as st

from annotation.document import (
    EFFECTS,
    IMAGE_ROLES,
    MAX_INT,
    MODALITIES,
    NODE_KINDS,
    RELATION_KINDS,
    SOURCE_KINDS,
    TEMPLATES,
    VOLATILITIES,
    Document,
    read_document,
)

# Everything that can be stored: no NUL, no lone surrogates. Line ends of all kinds and CJK come up often.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
texts = st.text(st.one_of(characters, st.sampled_from("ab \n\r,.漢字テ한")), max_size=12)
days = st.dates().map(lambda day: day.isoformat())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INT, MAX_INT) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
extras = st.dictionaries(texts.map(lambda name: f"x-{name}".replace("\r", "")), json_values, max_size=2)


@st.composite
def dags(draw: st.DrawFn, max_steps: int = 9, forward: bool = True) -> list[list[int]]:
    """Acyclic prerequisites, 0-based; with `forward` some steps may stand before what they need."""
    count = draw(st.integers(0, max_steps))
    order = draw(st.permutations(range(count))) if forward else list(range(count))
    needs: list[list[int]] = [[] for _ in range(count)]
    for place in range(1, count):
        needs[order[place]] = draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=4))
    return needs


def _choice(options: tuple[str, ...]) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(options)


@st.composite
def raw_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Parsed JSON of a whole item: links hold, no cycle, lists in any order, `extra` filled."""

    def some(keys: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(keys), unique=True, max_size=3)) if keys else []

    def keys(letter: str, most: int) -> list[str]:
        return [f"{letter}{number}" for number in draw(st.permutations(range(1, draw(st.integers(0, most)) + 1)))]

    nodes, sources, images = keys("n", 4), keys("s", 4), keys("i", 2)
    regions = {key: [f"g{key}{n}" for n in range(draw(st.integers(0, 2)))] for key in images}
    relations = keys("r", 3) if nodes else []
    needs = draw(dags(max_steps=5))
    steps = [f"c{number}" for number in range(1, len(needs) + 1)]
    return {
        "schema": "lhdr.item/1",
        "id": draw(st.uuids()).hex,
        "language": draw(st.sampled_from(["en", "zh", ""])),
        "question": draw(texts),
        "answer": draw(texts),
        "answer_aliases": draw(st.lists(texts, max_size=3)),
        "answer_sources": some(sources),
        "as_of": draw(st.just("") | days),
        "rivals": [
            {"answer": draw(texts), "excluded_by": draw(texts), "sources": some(sources), "extra": draw(extras)}
            for _ in range(draw(st.integers(0, 2)))
        ],
        "category": draw(st.sampled_from([None, "media", "sports"])),
        "template": draw(_choice(TEMPLATES)),
        "operation_tags": draw(st.lists(st.sampled_from(["constraint", "temporal", "numerical"]), max_size=3)),
        "subtask": draw(texts),
        "design": draw(texts),
        "nodes": [
            {
                "key": key,
                "entity": draw(texts),
                "aliases": draw(st.lists(texts, max_size=2)),
                "kind": draw(_choice(NODE_KINDS)),
                "properties": [
                    {
                        "name": draw(texts),
                        "value": draw(texts),
                        "modality": draw(_choice(MODALITIES)),
                        "sources": some(sources),
                        "extra": draw(extras),
                    }
                    for _ in range(draw(st.integers(0, 2)))
                ],
                "sources": some(sources),
                "extra": draw(extras),
            }
            for key in nodes
        ],
        "relations": [
            {
                "key": key,
                "from": draw(st.sampled_from(nodes)),
                "to": draw(st.sampled_from(nodes)),
                "kind": draw(_choice(RELATION_KINDS)),
                "via": draw(texts),
                "description": draw(texts),
                "sources": some(sources),
                "extra": draw(extras),
            }
            for key in relations
        ],
        "checklist": [
            {
                "key": key,
                "conclusion": draw(texts),
                "prerequisites": [steps[position] for position in needs[number]],
                "modality": draw(_choice(MODALITIES)),
                "effect": draw(_choice(EFFECTS)),
                "nodes": some(nodes),
                "relations": some(relations),
                "sources": some(sources),
                "images": some([*images, *(key for each in regions.values() for key in each)]),
                "why_needed": draw(texts),
                "volatility": draw(_choice(VOLATILITIES)),
                "extra": draw(extras),
            }
            for number, key in enumerate(steps)
        ],
        "sources": [
            {
                "key": key,
                "url": draw(st.just("https://example.org/a#b") | texts),
                "title": draw(texts),
                "claim": draw(texts),
                "quote": draw(texts),
                "locator": draw(texts),
                "kind": draw(_choice(SOURCE_KINDS)),
                "accessed": draw(st.just("") | days),
                "captures": some(images),
                "extra": draw(extras),
            }
            for key in sources
        ],
        "images": [
            {
                "key": key,
                "file": draw(texts),
                "url": draw(texts),
                "role": draw(st.sampled_from(IMAGE_ROLES)),
                "alt": draw(texts),
                "caption": draw(texts),
                "sha256": draw(st.just("") | st.binary(min_size=32, max_size=32).map(bytes.hex)),
                "media_type": draw(st.sampled_from(["", "image/png"])),
                "width": draw(st.none() | st.integers(1, 10_000)),
                "height": draw(st.none() | st.integers(1, 10_000)),
                "credit": draw(texts),
                "license": draw(texts),
                "regions": [
                    {
                        "key": region,
                        "x": draw(st.integers(0, 10_000)),
                        "y": draw(st.integers(0, 10_000)),
                        "width": draw(st.integers(0, 10_000)),
                        "height": draw(st.integers(0, 10_000)),
                        "note": draw(texts),
                        "extra": draw(extras),
                    }
                    for region in regions[key]
                ],
                "extra": draw(extras),
            }
            for key in images
        ],
        "canary": draw(texts),
        "extra": draw(extras),
    }


def documents() -> st.SearchStrategy[Document]:
    """Whole documents: links hold and the checklist has no cycle."""
    return raw_documents().map(read_document)
