"""The item document: its dataclasses, parsing with named problems, canonical JSON, hashes, sections and links.

PURE: imports no Django and none of the other apps. `docs/formats.md` describes the format for its readers.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import cache, cached_property
from typing import Any, Final

SCHEMA: Final = "lhdr.item/1"

MODALITIES: Final = ("text", "image", "map", "pdf", "chart", "table", "logo", "video", "audio")
EFFECTS: Final = ("identifies", "constrains", "confirms", "localizes", "extracts", "bridges")
NODE_KINDS: Final = ("person", "organization", "place", "work", "event", "artifact", "concept", "other")
RELATION_KINDS: Final = ("shared_attribute", "uniqueness_constraint")
SOURCE_KINDS: Final = ("web", "wikipedia", "pdf", "video", "map", "audio", "table")
IMAGE_ROLES: Final = ("question", "evidence")
VOLATILITIES: Final = ("stable", "slow", "volatile")
TEMPLATES: Final = ("linear", "multi_branch")

# Which fields of the document each section holds. `schema` and `id` belong to none: no edit changes them.
SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "question": ("language", "question", "answer", "answer_aliases", "answer_sources", "as_of", "rivals"),
    "design": ("design",),
    "graph": ("nodes", "relations"),
    "checklist": ("checklist",),
    "sources": ("sources",),
    "images": ("images",),
    "metadata": ("category", "template", "operation_tags", "subtask", "canary", "extra"),
}

MAX_INT: Final = 2**53 - 1  # beyond it a browser would change the number
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document. `path` is like `checklist[2].conclusion`; "" is the whole."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class DocumentError(ValueError):
    """The data is not an item document. Carries every problem found, each naming its field and the remedy."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, problems)))


# --- how each field is read: a reader takes (value, path, problems) and returns the clean value -------------------

type_of: Final = {str: "text", bool: "true or false", int: "a whole number", list: "a list", dict: "an object"}
Reader = Callable[[Any, str, list[Problem]], Any]


def _kind_of(value: Any) -> str:
    return "nothing (null)" if value is None else type_of.get(type(value), f"a {type(value).__name__}")


def _printable(name: Any) -> str:
    """A field name as it can stand in a message: any character in it that cannot be stored is spelled out."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", str(name)[:60])


def clean_text(value: str) -> str:
    """Line ends become LF; everything else stays as typed. Raises ValueError on NUL and lone surrogates."""
    if found := _FORBIDDEN.search(value):
        raise ValueError(f"holds the character U+{ord(found.group()):04X}, which cannot be stored; remove it")
    return value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value


def _text(value: Any, path: str, problems: list[Problem]) -> str:
    if isinstance(value, str):
        if value.isprintable():  # then there is nothing to clean; most texts are
            return value
        try:
            return clean_text(value)
        except ValueError as error:
            problems.append(Problem(path, str(error)))
    elif value is not None:
        problems.append(Problem(path, f"must be text, not {_kind_of(value)}"))
    return ""


def _day(value: Any, path: str, problems: list[Problem]) -> str:
    text = _text(value, path, problems)
    if text:
        try:
            if not _DAY.fullmatch(text):
                raise ValueError
            date.fromisoformat(text)
        except ValueError:
            problems.append(Problem(path, f"must be a day like 2026-11-30, not {text[:60]!r}"))
    return text


def _sha256(value: Any, path: str, problems: list[Problem]) -> str:
    text = _text(value, path, problems)
    if text and not _SHA256.fullmatch(text):
        problems.append(Problem(path, f"must be 64 lower-case hexadecimal digits, not {text[:60]!r}"))
    return text


def _key(value: Any, path: str, problems: list[Problem]) -> str:
    text = _text(value, path, problems)
    if not _KEY.fullmatch(text):
        problems.append(Problem(path, f"must be a key of up to 40 letters, digits, - and _, not {text[:60]!r}"))
    return text


def _choice(options: tuple[str, ...], default: str | None = None) -> Reader:
    def read(value: Any, path: str, problems: list[Problem]) -> str | None:
        if value is None or value == "":
            return default
        if value not in options:
            problems.append(Problem(path, f"must be one of {', '.join(options)}, not {str(value)[:60]!r}"))
            return default
        return str(value)

    return read


def _slug(value: Any, path: str, problems: list[Problem]) -> str | None:
    return _text(value, path, problems) or None


def _whole(low: int, high: int, optional: bool = False) -> Reader:
    def read(value: Any, path: str, problems: list[Problem]) -> int | None:
        if value is None and optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            problems.append(Problem(path, f"must be a whole number from {low} to {high}, not {str(value)[:60]}"))
            return None if optional else low
        return value

    return read


def _texts(value: Any, path: str, problems: list[Problem], read: Reader = _text) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        problems.append(Problem(path, f"must be a list, not {_kind_of(value)}"))
        return ()
    if read is _text and all(type(element) is str and element.isprintable() for element in value):
        return tuple(value)
    return tuple(read(element, f"{path}[{position}]", problems) for position, element in enumerate(value))


def _text_set(value: Any, path: str, problems: list[Problem]) -> tuple[str, ...]:
    return tuple(sorted({text for text in _texts(value, path, problems) if text}))


def _keys(value: Any, path: str, problems: list[Problem]) -> tuple[str, ...]:
    if value == []:
        return ()
    return tuple(dict.fromkeys(_texts(value, path, problems, _key)))


def _json_value(value: Any, path: str, problems: list[Problem], depth: int = 0) -> Any:
    if depth > 20:
        problems.append(Problem(path, "is nested more than 20 deep; flatten it"))
        return None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path, problems)
    if isinstance(value, int):
        if abs(value) > MAX_INT:
            problems.append(Problem(path, "is a whole number beyond 2^53; write it as text"))
        return value
    if isinstance(value, float):
        problems.append(Problem(path, "is not a whole number; write it as text, as documents hold no fractions"))
        return None
    if isinstance(value, Mapping):
        return {
            _text(str(name), path, problems): _json_value(inner, f"{path}.{_printable(name)}", problems, depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_json_value(inner, f"{path}[{n}]", problems, depth + 1) for n, inner in enumerate(value)]
    problems.append(Problem(path, f"must be JSON, not {_kind_of(value)}"))
    return None


def _extra(value: Any, path: str, problems: list[Problem]) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        problems.append(Problem(path, f"must be an object, not {_kind_of(value)}"))
        return {}
    return _json_value(value, path, problems)


def _many(cls: type) -> Reader:
    def read(value: Any, path: str, problems: list[Problem]) -> tuple[Any, ...]:
        if value is None:
            return ()
        if not isinstance(value, (list, tuple)):
            problems.append(Problem(path, f"must be a list, not {_kind_of(value)}"))
            return ()
        return tuple(_read_object(cls, element, f"{path}[{n}]", problems) for n, element in enumerate(value))

    return read


def _field(read: Reader, default: Any = "", name: str = "") -> Any:
    return field(default=default, metadata={"read": read, "name": name})


def _extra_field() -> Any:
    return field(default_factory=dict, metadata={"read": _extra, "name": ""})


@cache
def _plan(cls: type) -> dict[str, tuple[str, Reader]]:
    """JSON name -> (attribute, reader) for each field of a dataclass of this module."""
    return {f.metadata["name"] or f.name: (f.name, f.metadata["read"]) for f in fields(cls)}


def _read_object(cls: type, value: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, Mapping):
        problems.append(Problem(path, f"must be an object, not {_kind_of(value)}"))
        return cls()
    plan, prefix = _plan(cls), f"{path}." if path else ""
    arguments: dict[str, Any] = {
        # as `_text` has it, which is asked most: a document has hundreds of texts
        attr: given
        if read is _text and type(given := value.get(name)) is str and given.isprintable()
        else read(value.get(name), prefix + name, problems)
        for name, (attr, read) in plan.items()
    }
    # What we have no field for is kept, never dropped.
    if not value.keys() <= plan.keys():
        unknown = {name: inner for name, inner in value.items() if name not in plan}
        if clash := sorted(set(unknown) & set(arguments["extra"])):
            names = ", ".join(map(_printable, clash))
            problems.append(Problem(f"{prefix}extra", f"holds {names} also given beside it; keep one"))
        arguments["extra"] = {**_extra(unknown, path or "document", problems), **arguments["extra"]}
    return cls(**arguments)


# --- the parts of a document --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rival:
    """Another candidate answer and the constraint that rules it out."""

    answer: str = _field(_text)
    excluded_by: str = _field(_text)
    sources: tuple[str, ...] = _field(_keys, ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Property:
    """A verifiable property of a node."""

    name: str = _field(_text)
    value: str = _field(_text)
    modality: str | None = _field(_choice(MODALITIES), None)
    sources: tuple[str, ...] = _field(_keys, ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Node:
    """An entity of the hidden Node-Relation graph."""

    key: str = _field(_key)
    entity: str = _field(_text)
    aliases: tuple[str, ...] = _field(_text_set, ())
    kind: str | None = _field(_choice(NODE_KINDS), None)
    properties: tuple[Property, ...] = _field(_many(Property), ())
    sources: tuple[str, ...] = _field(_keys, ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Relation:
    """A verified property of one node as the entry condition of the next. JSON names `from` and `to`."""

    key: str = _field(_key)
    from_node: str = _field(_key, name="from")
    to_node: str = _field(_key, name="to")
    kind: str | None = _field(_choice(RELATION_KINDS), None)
    via: str = _field(_text)
    description: str = _field(_text)
    sources: tuple[str, ...] = _field(_keys, ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Step:
    """One necessary conclusion of the checklist. `prerequisites` are keys of steps, `images` of images or regions."""

    key: str = _field(_key)
    conclusion: str = _field(_text)
    prerequisites: tuple[str, ...] = _field(_keys, ())
    modality: str | None = _field(_choice(MODALITIES), None)
    effect: str | None = _field(_choice(EFFECTS), None)
    nodes: tuple[str, ...] = _field(_keys, ())
    relations: tuple[str, ...] = _field(_keys, ())
    sources: tuple[str, ...] = _field(_keys, ())
    images: tuple[str, ...] = _field(_keys, ())
    why_needed: str = _field(_text)
    volatility: str | None = _field(_choice(VOLATILITIES), None)
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Source:
    """A URL with the claim it supports. `captures` are keys of images that show what the source showed."""

    key: str = _field(_key)
    url: str = _field(_text)
    title: str = _field(_text)
    claim: str = _field(_text)
    quote: str = _field(_text)
    locator: str = _field(_text)
    kind: str | None = _field(_choice(SOURCE_KINDS), None)
    accessed: str = _field(_day)
    captures: tuple[str, ...] = _field(_keys, ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of an image in ten-thousandths of its upright width and height, with a note."""

    key: str = _field(_key)
    x: int = _field(_whole(0, 10_000), 0)
    y: int = _field(_whole(0, 10_000), 0)
    width: int = _field(_whole(0, 10_000), 0)
    height: int = _field(_whole(0, 10_000), 0)
    note: str = _field(_text)
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: stored (`file`, `sha256`, size) or only known by `url` until it was fetched."""

    key: str = _field(_key)
    file: str = _field(_text)
    url: str = _field(_text)
    role: str | None = _field(_choice(IMAGE_ROLES, "evidence"), "evidence")
    alt: str = _field(_text)
    caption: str = _field(_text)
    sha256: str = _field(_sha256)
    media_type: str = _field(_text)
    width: int | None = _field(_whole(1, 1_000_000, optional=True), None)
    height: int | None = _field(_whole(1, 1_000_000, optional=True), None)
    credit: str = _field(_text)
    license: str = _field(_text)
    regions: tuple[Region, ...] = _field(_many(Region), ())
    extra: dict[str, Any] = _extra_field()


@dataclass(frozen=True)
class Document:
    """One item with everything hidden behind it. Make one with `read_document` or `empty_document`."""

    schema: str = _field(_text, SCHEMA)
    id: str = _field(_text)
    language: str = _field(_text)
    question: str = _field(_text)
    answer: str = _field(_text)
    answer_aliases: tuple[str, ...] = _field(_text_set, ())
    answer_sources: tuple[str, ...] = _field(_keys, ())
    as_of: str = _field(_day)
    rivals: tuple[Rival, ...] = _field(_many(Rival), ())
    category: str | None = _field(_slug, None)
    template: str | None = _field(_choice(TEMPLATES), None)
    operation_tags: tuple[str, ...] = _field(_text_set, ())
    subtask: str = _field(_text)
    design: str = _field(_text)
    nodes: tuple[Node, ...] = _field(_many(Node), ())
    relations: tuple[Relation, ...] = _field(_many(Relation), ())
    checklist: tuple[Step, ...] = _field(_many(Step), ())
    sources: tuple[Source, ...] = _field(_many(Source), ())
    images: tuple[Image, ...] = _field(_many(Image), ())
    canary: str = _field(_text)
    extra: dict[str, Any] = _extra_field()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, every field present; tuples as lists."""
        return _write(self)

    def section(self, name: str) -> dict[str, Any]:
        """The fields of one section as plain JSON. Raises KeyError for an unknown section."""
        data = self.to_json()
        return {name: data[name] for name in SECTIONS[name]}

    @cached_property
    def _hashes(self) -> tuple[str, dict[str, str]]:
        """`hash` and `section_hashes`: each field is written once, and put together for the whole and its section."""
        parts = {name: b'"%s":%s' % (name.encode(), canonical_bytes(v)) for name, v in self.to_json().items()}

        def of(names: Iterable[str]) -> str:
            return hashlib.sha256(b"{%s}" % b",".join(parts[name] for name in sorted(names))).hexdigest()

        return of(parts), {section: of(names) for section, names in SECTIONS.items()}

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical form, hexadecimal."""
        return self._hashes[0]

    @property
    def section_hashes(self) -> dict[str, str]:
        """Section name -> SHA-256 of the canonical form of its fields."""
        return self._hashes[1]

    def with_section(self, name: str, content: Mapping[str, Any]) -> "Document":
        """A copy with one section replaced; fields of the section missing in `content` become empty.

        Raises DocumentError: unknown section, a field of another section, or any problem of its values.
        Does not look at links or cycles; see `dangling_links` and `annotation.graph.find_cycle`.
        """
        if name not in SECTIONS:
            raise DocumentError([Problem("section", f"must be one of {', '.join(SECTIONS)}, not {name[:60]!r}")])
        if not isinstance(content, Mapping):
            raise DocumentError([Problem(name, f"must be an object, not {_kind_of(content)}")])
        if strange := sorted(set(content) - set(SECTIONS[name])):
            allowed = ", ".join(SECTIONS[name])
            raise DocumentError(
                [Problem(_printable(s), f"is no field of section {name}; it has {allowed}") for s in strange]
            )
        problems: list[Problem] = []
        plan = _plan(Document)
        changes = {field: plan[field][1](content.get(field), field, problems) for field in SECTIONS[name]}
        changed = replace(self, **changes)
        problems += _duplicate_keys(changed)
        if problems:
            raise DocumentError(problems)
        return changed

    @property
    def step_positions(self) -> dict[str, int]:
        """Step key -> 0-based position."""
        return {step.key: position for position, step in enumerate(self.checklist)}

    def prerequisite_positions(self) -> list[list[int]]:
        """For each step the 0-based positions of its direct prerequisites; links to missing steps are left out."""
        at = self.step_positions
        return [[at[key] for key in step.prerequisites if key in at] for step in self.checklist]


def _write(value: Any) -> dict[str, Any]:
    """A dataclass of this module as plain JSON."""
    cls: type = type(value)
    result = {}
    for name, (attr, _) in _plan(cls).items():
        inner = getattr(value, attr)
        if isinstance(inner, tuple):
            inner = [element if isinstance(element, str) else _write(element) for element in inner]
        result[name] = inner
    return result


# --- reading ------------------------------------------------------------------------------------------------------


def empty_document(id: str, language: str = "en") -> Document:
    """A new item with nothing in it."""
    return Document(id=id, language=language)


def upcast(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data in today's schema. Raises DocumentError for a schema this version does not know."""
    schema = data.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise DocumentError([Problem("schema", f"{str(schema)[:60]!r} is not known here; this version reads {SCHEMA}")])
    return data


def read_document(data: Any) -> Document:
    """The document in `data` (parsed JSON). Fields may be missing; unknown ones are kept in `extra`.

    Raises DocumentError with every problem found: wrong types, unknown choices, repeated keys, an empty id.
    Links that dangle and cycles are rules of the item, not of the format: see `dangling_links`.
    """
    if not isinstance(data, Mapping):
        raise DocumentError([Problem("", f"an item must be a JSON object, not {_kind_of(data)}")])
    data = upcast(data)
    problems: list[Problem] = []
    document: Document = _read_object(Document, {"schema": SCHEMA, **data}, "", problems)
    if not document.id.strip() and not any(problem.path == "id" for problem in problems):
        problems.append(Problem("id", "is missing; give each item an id of its own"))
    elif len(document.id) > 200:
        problems.append(Problem("id", "is longer than 200 characters; shorten it"))
    problems += _duplicate_keys(document)
    if problems:
        raise DocumentError(problems)
    return document


def elements(document: Document) -> Iterator[tuple[str, Any]]:
    """Every keyed element with the name of the list it stands in, in document order; regions follow their image."""
    for name in ("nodes", "relations", "checklist", "sources", "images"):
        for element in getattr(document, name):
            yield name, element
            if name == "images":
                yield from (("regions", region) for region in element.regions)


def images_of_pictures(document: Document) -> dict[str, tuple[Image, Region | None]]:
    """What a step's `images` may name: key -> the image, and the region of it where the key is a region's."""
    return {
        key: (image, region)
        for image in document.images
        for key, region in ((image.key, None), *((region.key, region) for region in image.regions))
    }


def _duplicate_keys(document: Document) -> list[Problem]:
    seen: dict[str, str] = {}
    problems = []
    for name, element in elements(document):
        if element.key and element.key in seen:
            problems.append(Problem(f"{name}.{element.key}", f"this key is already used in {seen[element.key]}"))
        seen.setdefault(element.key, name)
    return problems


# --- canonical form -----------------------------------------------------------------------------------------------


_CANONICAL: Final = {"sort_keys": True, "ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}


class CanonicalEncoder(json.JSONEncoder):
    """Writes canonical JSON whatever else it is told: for a column whose text is to be that."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, **_CANONICAL})


_encoder = CanonicalEncoder()


def canonical_bytes(value: Any) -> bytes:
    """Canonical JSON: keys sorted by code point, no spaces, UTF-8."""
    return _encoder.encode(value).encode()


def canonical_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON of plain values, hexadecimal."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


# --- links --------------------------------------------------------------------------------------------------------


PICTURES: Final = "images or regions"  # what a step's `images` may name: a whole picture, or a marked part of one


@dataclass(frozen=True, slots=True)
class Link:
    """A reference from one place of the document to a keyed element."""

    path: str  # e.g. checklist.c3.prerequisites
    referrer: str  # key of the element that refers, or "answer"
    target_list: str  # nodes, relations, checklist, sources, images, "images or regions"
    target: str


def links(document: Document) -> Iterator[Link]:
    """Every link of the document, in document order."""

    def of(path: str, referrer: str, target_list: str, keys: Sequence[str]) -> Iterator[Link]:
        return (Link(path, referrer, target_list, key) for key in keys)

    yield from of("answer_sources", "answer", "sources", document.answer_sources)
    for number, rival in enumerate(document.rivals, 1):
        yield from of(f"rivals.{number}.sources", f"rival {number}", "sources", rival.sources)
    for node in document.nodes:
        yield from of(f"nodes.{node.key}.sources", node.key, "sources", node.sources)
        for prop in node.properties:
            yield from of(f"nodes.{node.key}.properties.{prop.name}.sources", node.key, "sources", prop.sources)
    for relation in document.relations:
        ends = [key for key in (relation.from_node, relation.to_node) if key]
        yield from of(f"relations.{relation.key}", relation.key, "nodes", ends)
        yield from of(f"relations.{relation.key}.sources", relation.key, "sources", relation.sources)
    for step in document.checklist:
        base = f"checklist.{step.key}"
        yield from of(f"{base}.prerequisites", step.key, "checklist", step.prerequisites)
        yield from of(f"{base}.nodes", step.key, "nodes", step.nodes)
        yield from of(f"{base}.relations", step.key, "relations", step.relations)
        yield from of(f"{base}.sources", step.key, "sources", step.sources)
        yield from of(f"{base}.images", step.key, PICTURES, step.images)
    for source in document.sources:
        yield from of(f"sources.{source.key}.captures", source.key, "images", source.captures)


def dangling_links(document: Document) -> list[Link]:
    """Links whose target is not in the document."""
    keys: dict[str, set[str]] = {PICTURES: set()}
    for name, element in elements(document):
        keys.setdefault(name, set()).add(element.key)
        if name in ("images", "regions"):
            keys[PICTURES].add(element.key)
    return [link for link in links(document) if link.target not in keys.get(link.target_list, ())]


def unlink(document: Document, targets: set[str], *, inherit_prerequisites: bool = False) -> Document:
    """The document without any link to the keys in `targets`; relations that would lose an end are removed too.

    inherit_prerequisites: a step that needed a removed step gets the removed step's own prerequisites in its place
    (only for steps still present in `document`; call it before they are taken out).
    """
    removed_steps = {step.key: step.prerequisites for step in document.checklist if step.key in targets}

    def needs(step: Step) -> tuple[str, ...]:
        result: list[str] = []
        stack = list(reversed(step.prerequisites))
        seen: set[str] = set()
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if key not in targets:
                result.append(key)
            elif inherit_prerequisites:
                stack.extend(reversed(removed_steps.get(key, ())))
        return tuple(result)

    def keep(keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key not in targets)

    lost = {r.key for r in document.relations if r.from_node in targets or r.to_node in targets}
    targets = targets | lost
    return replace(
        document,
        answer_sources=keep(document.answer_sources),
        rivals=tuple(replace(rival, sources=keep(rival.sources)) for rival in document.rivals),
        nodes=tuple(
            replace(
                node,
                sources=keep(node.sources),
                properties=tuple(replace(prop, sources=keep(prop.sources)) for prop in node.properties),
            )
            for node in document.nodes
        ),
        relations=tuple(replace(r, sources=keep(r.sources)) for r in document.relations if r.key not in lost),
        checklist=tuple(
            replace(
                step,
                prerequisites=needs(step),
                nodes=keep(step.nodes),
                relations=keep(step.relations),
                sources=keep(step.sources),
                images=keep(step.images),
            )
            for step in document.checklist
        ),
        sources=tuple(replace(source, captures=keep(source.captures)) for source in document.sources),
    )
