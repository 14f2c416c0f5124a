"""Which responses people mark, and in which order: drawn by a rule with a seed. PURE: imports no Django."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completed response.  disputed: readable verdicts of models on it differ.  flagged: it or a verdict on it bears
    a flag, or an output about it could not be read."""

    pk: int
    category: str = ""
    disputed: bool = False
    flagged: bool = False


def draw(candidates: Sequence[Candidate], method: str, size: int, seed: int) -> list[int]:
    """Keys of at most `size` candidates, in the order of marking: the same for the same candidates and seed.

    - random: any, each as likely as the other
    - stratified: of each category as large a share as it has of all, by largest remainders, so that no category is more
      than one off; in mixed order
    - disagreement: only disputed ones, so maybe fewer than `size`
    - flagged: flagged ones first, then any

    Raises ValueError for another method.
    """
    chance = Random(seed)
    rows = sorted(candidates, key=lambda row: row.pk)
    chance.shuffle(rows)
    if method == "disagreement":
        rows = [row for row in rows if row.disputed]
    elif method == "flagged":
        rows.sort(key=lambda row: not row.flagged)
    elif method == "stratified":
        rows = _stratified(rows, size, chance)
    elif method != "random":
        raise ValueError(f"no way to draw: {method}")
    return [row.pk for row in rows[:size]]


def _stratified(rows: list[Candidate], size: int, chance: Random) -> list[Candidate]:
    strata: dict[str, list[Candidate]] = {}
    for row in rows:
        strata.setdefault(row.category, []).append(row)
    size = min(size, len(rows))
    shares = {name: divmod(size * len(of), len(rows)) for name, of in sorted(strata.items())}
    left = size - sum(whole for whole, _rest in shares.values())
    rounded_up = sorted(shares, key=lambda name: -shares[name][1])[:left]
    drawn = [row for name, (whole, _rest) in shares.items() for row in strata[name][: whole + (name in rounded_up)]]
    chance.shuffle(drawn)
    return drawn
