"""What calls cost. PURE: prices are USD per million tokens; unknown is None, never zero."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

ANSWER_TOKENS = 4_000  # of an answer, where its request sets no limit
CHARACTERS_A_TOKEN = 4
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_SMALLEST = Decimal("0.000001")


def price(
    prompt_tokens: int | None,
    completion_tokens: int | None,
    prompt_price: Decimal | None,
    completion_price: Decimal | None,
) -> Decimal | None:
    """Cost in USD by a price table, to the millionth; None where a price or a number of tokens is missing."""
    if prompt_tokens is None or completion_tokens is None or prompt_price is None or completion_price is None:
        return None
    return ((prompt_tokens * prompt_price + completion_tokens * completion_price) / 1_000_000).quantize(_SMALLEST)


def most_answer_tokens(extra_body: Mapping[str, Any]) -> int:
    """The token limit that a request sets, else ANSWER_TOKENS."""
    limits = [extra_body.get(name) for name in _LIMITS]
    return next((n for n in limits if isinstance(n, int) and not isinstance(n, bool) and n > 0), ANSWER_TOKENS)


def guess(
    characters: int, answer_tokens: int, prompt_price: Decimal | None, completion_price: Decimal | None
) -> Decimal:
    """What a call with a prompt of so many characters costs at most, most likely; 0 without a price table."""
    cost = price(characters // CHARACTERS_A_TOKEN, answer_tokens, prompt_price, completion_price)
    return Decimal(0) if cost is None else cost
