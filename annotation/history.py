"""Who wrote each element of an item, told from its revisions. PURE: imports no Django."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from annotation.document import canonical_hash

LISTS: Final = ("nodes", "relations", "checklist", "sources", "images")


@dataclass(frozen=True, slots=True)
class Lineage:
    """Numbers of revisions: the one that made an element, and those that changed it, oldest first.

    returned: the revision that brought it back as it once was (a restored one, or somebody who undid a change), or 0.
    The others then are those of the text that came back.
    """

    created: int
    changed: tuple[int, ...] = ()
    returned: int = 0


def lineages(revisions: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[str, Lineage]:
    """Key of each element of the newest document -> its lineage.

    revisions: (number, document as JSON), oldest first; read once, one document at a time. No revisions give {}.
    A key that was given up and comes back with another content is a new element; with a content that it once had, it
    is that one again. Where an element stands in its list is no part of it.
    """
    present: dict[tuple[str, str], tuple[Any, Lineage]] = {}
    known: dict[tuple[str, str, str], Lineage] = {}  # every content an element had
    for number, document in revisions:
        before, present = present, {}
        for name in LISTS:
            for element in document.get(name, ()):
                place = (name, element["key"])
                was = before.get(place)
                if was is not None and was[0] == element:
                    present[place] = was
                    continue
                content = (*place, canonical_hash(element))
                if content in known:
                    lineage = replace(known[content], returned=number)
                elif was is None:
                    lineage = Lineage(number)
                else:
                    lineage = Lineage(was[1].created, (*was[1].changed, number))
                known.setdefault(content, lineage)
                present[place] = (element, lineage)
    return {key: lineage for (_name, key), (_element, lineage) in present.items()}
