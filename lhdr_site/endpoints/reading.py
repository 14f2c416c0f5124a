"""Small reads from an endpoint that cost nothing: the models it lists, and what its key has used. Reads no table."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import urllib3

from .client import Target, read_key
from .errors import CallError, ErrorKind, classify
from .replies import parsed_json

SECONDS = 5.0
MOST_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Credit:
    """What a key has used so far and may still use, in USD; None where the endpoint sets no limit."""

    used: Decimal
    left: Decimal | None


def read_models(target: Target) -> list[str] | None:
    """The model ids that the endpoint lists; None where it has no such list. Raises CallError."""
    data = _get(target, "/v1/models" if target.wire == "anthropic" else "/models")
    rows = data.get("data") if isinstance(data, dict) else None
    return [str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row] if isinstance(rows, list) else None


def read_credit(target: Target) -> Credit | None:
    """As OpenRouter tells it (GET /key); None where the endpoint does not. Raises CallError."""
    data = _get(target, "/key") if target.wire != "anthropic" else None
    fields = data.get("data") if isinstance(data, dict) else None
    if not isinstance(fields, dict) or _usd(fields.get("usage")) is None:
        return None
    return Credit(_usd(fields["usage"]) or Decimal(0), _usd(fields.get("limit_remaining")))


def _usd(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value)).quantize(Decimal("0.000001"))
    except InvalidOperation:
        return None
    return amount if abs(amount) < 10**8 else None


def _get(target: Target, path: str) -> Any:
    """The JSON at an address below the base URL; None where there is no such address, or no JSON. Raises CallError."""
    key = read_key(target)
    headers = {"Accept": "application/json", "User-Agent": "lhdr-workbench"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        response = urllib3.PoolManager().request(
            "GET",
            target.base_url.rstrip("/") + path,
            headers=headers,
            timeout=urllib3.Timeout(total=SECONDS),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        data = response.read(MOST_BYTES)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise CallError(ErrorKind.NETWORK, f"No reply to GET {path} within {SECONDS:g} s.") from error
    if response.status in (404, 405, 410):
        return None
    if response.status >= 300:
        raise CallError(classify(response.status), f"The endpoint answered HTTP {response.status} to GET {path}.")
    return parsed_json(data)
