"""What every quality check shares: findings, thresholds, the context a check reads, the base class and the registry.

PURE: imports no Django. A new check is one `Check` subclass with `@register` on it, in a module of this package.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final, Literal

from annotation.checks.text import Folded
from annotation.document import SECTIONS, Document, canonical_hash, elements
from annotation.graph import find_cycle

Level = Literal["error", "warning", "info"]
Span = tuple[int, int]

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "info")  # by severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check has to say about one place of a document.

    anchor: a field of the document ("question") or the key of an element ("c5"). related: keys of other elements.
    part: tells apart findings of one check with the same anchor and related, e.g. which property leaks.
    spans: (start, end) character offsets into the question. `template` and `remedy` are English; `params` fill the
    template. about: the fields of anchor and related whose change makes it another finding; none: the params do.
    """

    code: str
    level: Level
    section: str
    anchor: str
    template: str
    remedy: str
    spans: tuple[Span, ...] = ()
    related: tuple[str, ...] = ()
    part: str = ""
    about: tuple[str, ...] = ()
    params: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The English sentence."""
        return self.template.format(**self.params)

    @property
    def subject(self) -> str:
        """What a dismissal names: the same as long as the check finds the same thing in the same place."""
        return canonical_hash([self.code, self.anchor, self.related, self.part])

    def fingerprint(self, document: Document) -> str:
        """Hash of the content or else the figures the finding is about; a dismissal lapses when it changes."""
        if not self.about:
            return canonical_hash([self.subject, dict(self.params)])
        by_key = {element.key: element for _, element in elements(document)}
        content = [
            {name: getattr(by_key.get(key, document), name, None) for name in self.about}
            for key in (self.anchor, *self.related)
        ]
        return canonical_hash([self.subject, content])


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The figures a benchmark may set. Percentages are whole numbers."""

    min_steps: int = 10
    min_nodes: int = 5
    max_answer_words: int = 12
    wikipedia_percent: int = 50  # more than this is too much
    leak_percent: int = 90  # a likeness over this is a leak
    near_duplicate_percent: int = 90  # a likeness from this on is a near-duplicate


@dataclass(frozen=True)
class CheckContext:
    """All that checks may read. None means "not known", and then the check that needs it says nothing.

    stored_images: SHA-256 of the images whose bytes are stored. twins: (name, percent of likeness) of other items of
    the benchmark that ask nearly the same. categories, operation_tags: slugs the benchmark has.
    """

    document: Document
    preset: str = "paper"  # or "sandbox"
    thresholds: Thresholds = Thresholds()
    stored_images: frozenset[str] | None = None
    twins: Sequence[tuple[str, int]] = ()
    categories: frozenset[str] | None = None
    operation_tags: frozenset[str] | None = None

    @cached_property
    def question(self) -> Folded:
        """The question folded, with the way back to its characters."""
        return Folded.of(self.document.question)

    @cached_property
    def prerequisites(self) -> list[list[int]]:
        """Positions of the direct prerequisites of each step; [] when there is a cycle, which has its own check."""
        positions = self.document.prerequisite_positions()
        return [] if find_cycle(positions) else positions


class Check:
    """One quality check. Subclasses set the words and figures, and yield findings from `run`; they keep no state."""

    code: ClassVar[str]
    title: ClassVar[str]
    why: ClassVar[str]
    how_to_mend: ClassVar[str]
    level: ClassVar[Level]
    section: ClassVar[str]
    about: ClassVar[tuple[str, ...]] = ()
    essential: ClassVar[bool] = False  # stays an error in the sandbox

    def level_under(self, preset: str) -> Level:
        """The level of its findings under a preset: in the sandbox only essential checks are errors."""
        return "warning" if self.level == "error" and preset == "sandbox" and not self.essential else self.level

    def run(self, context: CheckContext) -> Iterator[Finding]:
        """The findings, in document order."""
        raise NotImplementedError

    def finding(
        self,
        context: CheckContext,
        anchor: str,
        template: str,
        *,
        section: str = "",
        spans: Sequence[Span] = (),
        related: Sequence[str] = (),
        part: str = "",
        **params: str | int,
    ) -> Finding:
        """A finding of this check, with its level under the context's preset."""
        return Finding(
            code=self.code,
            level=self.level_under(context.preset),
            section=section or self.section,
            anchor=anchor,
            template=template,
            remedy=self.how_to_mend,
            spans=tuple(spans),
            related=tuple(related),
            part=part,
            about=self.about,
            params=params,
        )


_REGISTRY: dict[str, Check] = {}


def register(cls: type[Check]) -> type[Check]:
    """Class decorator: the check is run from now on. Raises ValueError for a code that is taken."""
    if cls.code in _REGISTRY:
        raise ValueError(f"there is already a check called {cls.code}")
    _REGISTRY[cls.code] = cls()
    return cls


def registry() -> Mapping[str, Check]:
    """Every check by its code, in the order in which they were registered."""
    return _REGISTRY


def run_checks(context: CheckContext) -> list[Finding]:
    """The findings of every check, by section, then by severity, then as each check gives them."""
    order = list(SECTIONS)
    findings = [finding for check in _REGISTRY.values() for finding in check.run(context)]
    return sorted(findings, key=lambda finding: (order.index(finding.section), LEVELS.index(finding.level)))
