"""What k solved of n independent tries say about a solve rate. PURE: imports no Django.

Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
binomial", Biometrika 26 (1934); the rule of three is its limit for k = 0 and many tries (-ln 0.05 is about 3).
"""

from math import comb


def upper_bound(solved: int, tries: int, confidence: float = 0.95) -> float:
    """The one-sided upper Clopper-Pearson bound, a fraction: the rate p at which at most `solved` of `tries` has the
    probability 1 - confidence. 1.0 for no tries and when all were solved.

    solved: 0 to tries.  Raises ValueError for other counts and for a confidence outside of (0, 1).
    """
    if not 0 <= solved <= tries:
        raise ValueError(f"{solved} solved of {tries} tries is no count")
    if not 0 < confidence < 1:
        raise ValueError("the confidence must lie between 0 and 1")
    if solved == tries:
        return 1.0
    low, high = solved / tries, 1.0
    for _ in range(60):  # the probability falls as p rises
        middle = (low + high) / 2
        chance = sum(comb(tries, k) * middle**k * (1 - middle) ** (tries - k) for k in range(solved + 1))
        low, high = (middle, high) if chance > 1 - confidence else (low, middle)
    return (low + high) / 2


def rule_of_three(tries: int) -> float:
    """3 / n, the rough upper 95 % bound when none of n tries was solved; never above 1. 1.0 for no tries."""
    return min(3 / tries, 1.0) if tries else 1.0
