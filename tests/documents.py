"""One complete item for tests of pure code: true facts, two branches that merge, no finding but information.

Imports no Django. Every call gives fresh data, so that a test may change what it likes.
"""

from typing import Any

from annotation.document import Document, read_document

QUESTION = (
    "The picture shows a railway crossing over a firth. One of its two designers also drew up the iron vessel in which "
    "an ancient monument was towed to a northern capital. The ruler for whom that monument was first cut also ordered "
    "another one, which is now the tallest of its sort that still stands. In which year was that one set up again "
    "where it is today?"
)

# number, conclusion, prerequisites, modality, effect, nodes, relations, sources, images
STEPS: tuple[tuple[Any, ...], ...] = (
    ("c1", "The bridge in the picture is the Forth Bridge.", [], "image", "identifies", ["n1"], [], ["s1"], ["i1"]),
    ("c2", "Benjamin Baker and John Fowler designed the Forth Bridge.", ["c1"], "text", None, ["n1"], ["r1"],
     ["s2"], []),
    ("c3", "Baker also designed the cylinder ship Cleopatra.", ["c2"], "text", None, ["n2"], [], ["s3"], []),
    ("c4", "The Cleopatra brought Cleopatra's Needle to London.", ["c3"], "text", None, ["n3"], ["r2"], ["s3"], []),
    ("c5", "That granite shaft was first raised at Heliopolis under Thutmose III.", ["c4"], "text", None, ["n4"],
     ["r3"], ["s4", "s5"], []),
    ("c6", "Thutmose III also had a single obelisk begun at Karnak.", ["c5"], "text", None, ["n4"], ["r4"], ["s6"], []),
    ("c7", "Of all Egyptian obelisks still upright, the one beside Saint John Lateran is the tallest.", [], "map",
     "localizes", ["n5"], [], ["s7"], ["i2"]),
    ("c8", "The pharaoh's unfinished work at Karnak became the Lateran Obelisk.", ["c6", "c7"], "text", None, ["n5"],
     [], ["s6"], []),
    ("c9", "Pope Sixtus V had its three pieces dug out of the Circus Maximus.", ["c8"], "text", None, ["n5"], [],
     ["s6"], []),
    ("c10", "Domenico Fontana finished putting it up in Rome in August 1588.", ["c9"], "text", None, ["n5"], [], ["s8"],
     []),
)  # fmt: skip

NODES: tuple[tuple[Any, ...], ...] = (
    ("n1", "Forth Bridge", ["Firth of Forth rail bridge"], "artifact", "opened", "4 March 1890", "s1"),
    ("n2", "Benjamin Baker", ["Sir Benjamin Baker"], "person", "ship designed", "Cleopatra", "s2"),
    ("n3", "Cleopatra's Needle", [], "artifact", "place", "Victoria Embankment", "s4"),
    ("n4", "Thutmose III", ["Tuthmosis III"], "person", "dynasty", "Eighteenth Dynasty", "s5"),
    ("n5", "Lateran Obelisk", ["Obelisco Lateranense"], "artifact", "height", "32.18 m", "s6"),
)

RELATIONS = (
    ("r1", "n1", "n2", "shared_attribute", "designer", "Who designed the bridge leads to the engineer.", "s2"),
    ("r2", "n2", "n3", "uniqueness_constraint", "ship", "The one ship of this engineer leads to its cargo.", "s3"),
    ("r3", "n3", "n4", "shared_attribute", "first ruler", "The inscription names who had it made.", "s4"),
    ("r4", "n4", "n5", "uniqueness_constraint", "single obelisk", "Only one was meant to stand alone.", "s6"),
)

SOURCES = (
    ("s1", "https://www.theforthbridges.org/forth-bridge/", "web", "Pictures and history of the Forth Bridge."),
    ("s2", "https://www.britannica.com/biography/Benjamin-Baker", "web", "Baker and Fowler designed the Forth Bridge."),
    ("s3", "https://en.wikipedia.org/wiki/Cleopatra_(cylinder_ship)", "wikipedia", "Baker designed the ship."),
    ("s4", "https://www.britannica.com/topic/Cleopatras-Needle", "web", "It was first raised at Heliopolis."),
    ("s5", "https://en.wikipedia.org/wiki/Cleopatra%27s_Needle,_London", "wikipedia", "Made for Thutmose III."),
    ("s6", "https://en.wikipedia.org/wiki/Lateran_Obelisk", "wikipedia", "Begun for Thutmose III at Karnak."),
    ("s7", "https://www.openstreetmap.org/#map=19/41.88680/12.50490", "map", "It stands beside Saint John Lateran."),
    ("s8", "https://www.turismoroma.it/en/places/lateran-obelisk", "web", "Put up by Fontana in August 1588."),
)


def good_data(**changes: Any) -> dict[str, Any]:
    """A good item as plain JSON; each change replaces one top-level field."""
    return {
        "schema": "lhdr.item/1",
        "id": "good-item",
        "language": "en",
        "question": QUESTION,
        "answer": "1588",
        "answer_aliases": ["August 1588"],
        "answer_sources": ["s8"],
        "as_of": "2026-11-30",
        "rivals": [{"answer": "1586", "excluded_by": "That is the Vatican one, which is shorter.", "sources": ["s6"]}],
        "category": "geography",
        "template": "multi_branch",
        "operation_tags": ["constraint", "temporal"],
        "subtask": "",
        "design": "The bridge leads to its engineer, his ship to its cargo, and the cargo to its maker.",
        "nodes": [
            {"key": key, "entity": entity, "aliases": aliases, "kind": kind, "sources": [source],
             "properties": [{"name": name, "value": value, "modality": "text", "sources": [source]}]}
            for key, entity, aliases, kind, name, value, source in NODES
        ],
        "relations": [
            {"key": key, "from": start, "to": end, "kind": kind, "via": via, "description": text, "sources": [source]}
            for key, start, end, kind, via, text, source in RELATIONS
        ],
        "checklist": [
            {"key": key, "conclusion": conclusion, "prerequisites": needs, "modality": modality, "effect": effect,
             "nodes": nodes, "relations": relations, "sources": sources, "images": images,
             "why_needed": "The next conclusion starts from it.", "volatility": "stable"}
            for key, conclusion, needs, modality, effect, nodes, relations, sources, images in STEPS
        ],
        "sources": [
            {"key": key, "url": url, "title": claim.rstrip("."), "claim": claim, "quote": "", "locator": "",
             "kind": kind, "accessed": "2026-11-30", "captures": []}
            for key, url, kind, claim in SOURCES
        ],
        "images": [
            {"key": key, "file": f"images/{digit * 64}.png", "url": "", "role": role, "alt": alt, "caption": "",
             "sha256": digit * 64, "media_type": "image/png", "width": 1200, "height": 800, "credit": "Drawn for tests",
             "license": "CC0-1.0", "regions": []}
            for key, digit, role, alt in (
                ("i1", "1", "question", "A railway bridge of three red diamonds of steel"),
                ("i2", "2", "evidence", "Map of the square with a mark beside the church"),
            )
        ],
        "canary": "lhdr:test",
        "extra": {},
        **changes,
    }  # fmt: skip


def good_document(**changes: Any) -> Document:
    """The good item as a document; each change replaces one top-level field, given as JSON."""
    return read_document(good_data(**changes))
