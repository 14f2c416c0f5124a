"""Two releases beside each other: what came, went and changed; and what that means for the version.

PURE: imports no Django.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Level = Literal["major", "minor", "patch", "none"]
# What is asked and what is graded: a change of these makes scores before and after incomparable.
_ASKED: Final = ("question", "answer", "answer_aliases")
_STEP: Final = ("key", "conclusion", "prerequisites")
_VERSION: Final = re.compile(
    r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


@dataclass(frozen=True, slots=True)
class Changed:
    """An item in both, with other content. `graded`: what is asked or graded differs."""

    uid: str
    sections: tuple[str, ...]
    graded: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ids that only the new one has, that only the old one has, and the items that differ; in the order of each."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()
    same: int = 0
    moved: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # id -> split before and after

    @property
    def level(self) -> Level:
        """The least step of the version that tells of it."""
        if self.removed or any(change.graded for change in self.changed):
            return "major"
        if self.added:
            return "minor"
        return "patch" if self.changed or self.moved else "none"


def changed_ids(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Ids that both have, with different hashes, in the order of the new one."""
    return [uid for uid, digest in new.items() if uid in old and old[uid] != digest]


def compare(
    old: Mapping[str, str],
    new: Mapping[str, str],
    documents: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
    splits: Mapping[str, tuple[str, str]] | None = None,
) -> Comparison:
    """old, new: id -> document hash. documents: (id, old, new) of `changed_ids`, as plain JSON.

    splits: id -> split before and after, of the items in both; only where both releases have splits.
    """
    changed = tuple(_changed(uid, before, after) for uid, before, after in documents)
    return Comparison(
        added=tuple(uid for uid in new if uid not in old),
        removed=tuple(uid for uid in old if uid not in new),
        changed=changed,
        same=sum(uid in old for uid in new) - len(changed),
        moved={uid: (before, after) for uid, (before, after) in (splits or {}).items() if before != after},
    )


def _changed(uid: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Changed:
    names = tuple(name for name in new if old.get(name) != new[name])
    return Changed(uid, names, _graded(old) != _graded(new))


def _graded(document: Mapping[str, Any]) -> Any:
    pictures = [i["sha256"] or i["url"] for i in document["images"] if i["role"] == "question"]
    steps = [[step[name] for name in _STEP] for step in document["checklist"]]
    return [[document[name] for name in _ASKED], steps, pictures]


# --- versions -----------------------------------------------------------------------------------------------------


def is_version(text: str) -> bool:
    """Whether it is a semantic version (semver.org 2.0.0) that fits its column."""
    return len(text) <= 40 and _VERSION.fullmatch(text) is not None


def next_version(previous: str, level: Level) -> str:
    """The version after one. "1.0.0" where the one before has none; a pre-release becomes what it prepared."""
    found = _VERSION.fullmatch(previous)
    if found is None:
        return "1.0.0"
    major, minor, patch = int(found[1]), int(found[2]), int(found[3])
    if found[4]:
        return f"{major}.{minor}.{patch}"
    if level == "major":
        return f"{major + 1}.0.0"
    return f"{major}.{minor + 1}.0" if level == "minor" else f"{major}.{minor}.{patch + 1}"
