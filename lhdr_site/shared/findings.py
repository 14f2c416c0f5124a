"""What an analysis found about an item, carried in a signed address to the page that flags it. Imports no app.

Signed, so that the evidence of an erratum is what the Workbench found; the person's own words stay their own.
"""

from typing import Any

from django.core import signing

_SALT = "lhdr.finding"


def sign_finding(benchmark: str, item: int, finding: dict[str, Any]) -> str:
    """finding: plain JSON with kind, anchor, grounds and evidence, about the item with this number."""
    return signing.dumps([benchmark, item, finding], salt=_SALT, compress=True)


def read_finding(token: str, benchmark: str, item: int) -> dict[str, Any] | None:
    """What `sign_finding` was given; None for what was not signed here, or is about another item."""
    try:
        about = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError):
        return None
    return about[2] if about[:2] == [benchmark, item] else None
