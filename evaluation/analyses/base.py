"""What every analysis is made of: who it is, what it needs, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy

from evaluation.scoring.bootstrap import RESAMPLES, SEED
from evaluation.scoring.metrics import Profile

from .tables import Result

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from audit.releases import Release
    from evaluation.models import Judge, Run

    from .data import Results


BOOTSTRAP = gettext_lazy("95%% item bootstrap, B = %(resamples)d, seed %(seed)d.")


@dataclass(frozen=True, slots=True)
class Options:
    """profile: the one the results were loaded under."""

    profile: Profile = Profile.STRICT
    seed: int = SEED
    resamples: int = RESAMPLES


@dataclass(frozen=True, slots=True)
class Analysis:
    """key: in addresses and files. text: one sentence on what it shows, with the source of its formula.

    compute: is only called with as many runs and judges as `runs` and `judges` name. conditions: it takes runs with and
    without image at once; others get those of one condition. pair: it is about two runs that the reader picks.
    people: persons are among the judges, after the models. unjudged: it takes runs of which the main judge judged
    nothing, too. draws: what was drawn at random, "" for nothing; may name B (`resamples`) and `seed`. besides: what
    else its figures rest on, for the hash of its inputs. version: raised whenever the figures change for the same
    input, as stored results are then computed anew.
    """

    key: str
    title: _StrPromise
    text: _StrPromise
    compute: Callable[[Results, Options], Result]
    runs: int = 1
    judges: int = 1
    conditions: bool = False
    pair: bool = False
    people: bool = False
    unjudged: bool = False
    draws: _StrPromise | str = BOOTSTRAP
    besides: Callable[[Release, Sequence[Run], Judge | None], Any] | None = None
    version: int = 1
