"""Parts of a release: dev, test and held out, by share with a seed or by a list.

PURE: imports no Django. The same plan and items give the same splits on every machine.
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

SPLITS: Final = ("dev", "test", "held_out")
HELD_OUT: Final = "held_out"
LARGEST_SEED: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Either `shares`, in percent and 100 together, with a seed; or `named`, the split of every item by id or number.

    Neither: the release has no splits.
    """

    shares: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    named: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """How the splits were made, for the record; {} without any."""
        if self.named:
            return {"by": "list"}
        if not self.shares:
            return {}
        return {"by": "share", "shares": dict(self.shares), "seed": self.seed, "stratified": "category"}


def assign(plan: SplitPlan, items: Sequence[tuple[str, int, str]]) -> dict[str, str]:
    """The split of each item, given as (id, number, category); {} without a plan.

    By share: within each category the items come in an order that the seed draws, and each goes to the split that is
    furthest behind its share, so that whole and categories keep the shares as nearly as whole items can.
    Raises ValueError for shares that cannot be, for items that the list leaves out and for ones that it only names.
    """
    if plan.named:
        return _by_list(plan.named, items)
    if not plan.shares:
        return {}
    if unknown := sorted(set(plan.shares) - set(SPLITS)):
        raise ValueError(f"there is no split {unknown[0][:40]!r}; use {', '.join(SPLITS)}")
    if any(share < 0 for share in plan.shares.values()) or sum(plan.shares.values()) != 100:
        total = sum(plan.shares.values())
        raise ValueError(f"the shares must be 0 or more and make 100 % together; they make {total} %")
    if not 0 <= plan.seed <= LARGEST_SEED:
        raise ValueError(f"the seed must be from 0 to {LARGEST_SEED}")

    def drawn(item: tuple[str, int, str]) -> tuple[str, bytes]:
        return item[2], hashlib.sha256(f"{plan.seed}\0{item[0]}".encode()).digest()

    splits: dict[str, str] = {}
    whole: Counter[str] = Counter()
    part: dict[str, Counter[str]] = {}
    for item in sorted(items, key=drawn):
        here = part.setdefault(item[2], Counter())
        size, done = sum(here.values()) + 1, len(splits) + 1

        def behind(name: str) -> tuple[float, float]:
            share = plan.shares[name] / 100
            return share * size - here[name], share * done - whole[name]  # noqa: B023 (used at once)

        name = max((name for name in SPLITS if plan.shares.get(name)), key=behind)
        splits[item[0]] = name
        here[name] += 1
        whole[name] += 1
    return splits


def _by_list(named: Mapping[str, str], items: Sequence[tuple[str, int, str]]) -> dict[str, str]:
    splits: dict[str, str] = {}
    used: set[str] = set()
    missing = []
    for uid, number, _category in items:
        name = next((name for name in (uid, f"#{number}", str(number)) if name in named), None)
        if name is None:
            missing.append(f"#{number}")
        else:
            splits[uid] = named[name]
            used.add(name)
    if missing:
        raise ValueError(f"the list of splits leaves out {_some(missing)}; give each item a split")
    if unknown := sorted(set(named) - used):
        raise ValueError(f"the list of splits names {_some(unknown)}, not among the chosen items; take the lines out")
    return splits


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:60] for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def read_list(text: str) -> dict[str, str]:
    """Item (id or number) -> split, from CSV with two columns; a first line that names them is passed over.

    Raises ValueError, naming the line.
    """
    named: dict[str, str] = {}
    for line, row in enumerate(csv.reader(io.StringIO(text.removeprefix("\ufeff"))), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if line == 1 and len(cells) >= 2 and cells[1].lower() == "split":
            continue
        if len(cells) != 2 or not cells[0]:
            raise ValueError(f"line {line} of the splits: write the item's id or number, a comma, and its split")
        item, split = cells[0], cells[1].lower().replace("-", "_").replace(" ", "_")
        if split not in SPLITS:
            raise ValueError(f"line {line} of the splits: there is no split {cells[1][:40]!r}; use {', '.join(SPLITS)}")
        if named.setdefault(item, split) != split:
            raise ValueError(f"line {line} of the splits: {item[:60]} is in two splits; keep one")
    return named


def read_shares(text: str) -> dict[str, int]:
    """Shares in percent, from "dev=10, test=60, held_out=30". Raises ValueError, naming the part."""
    shares: dict[str, int] = {}
    for part in text.split(","):
        name, _sign, value = part.partition("=")
        name = name.strip().lower().replace("-", "_")
        if name not in SPLITS or not value.strip().isdecimal() or len(value.strip()) > 3:
            raise ValueError(f"{part.strip()[:40]!r} is no share; write for example dev=10,test=60,held_out=30")
        shares[name] = int(value)
    return shares
