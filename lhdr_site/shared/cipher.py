"""The canary cipher of published browsing benchmarks: obfuscation against crawlers, NOT secrecy.

No salt, no authentication; whoever has the row has the canary, which is the password. Pure: imports no Django.
"""

from __future__ import annotations

import base64
import hashlib
import re

# Tab, line feed and carriage return occur in real text; other control characters mean that the key was wrong.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class WrongCanary(ValueError):
    """The text was not encrypted with this canary (or is not cipher text at all)."""

    def __init__(self) -> None:
        super().__init__("wrong canary")


def encrypt(text: str, password: str) -> str:
    """Obfuscate `text`: UTF-8, XOR with the SHA-256 digest of the password repeated to its length, standard base64.

    Obfuscation against crawlers, not secrecy.  The empty text gives the empty token.
    Raises ValueError for text that has no UTF-8 form (lone surrogates).
    """
    return base64.b64encode(_xor(text.encode(), password)).decode("ascii")


def decrypt(token: str, password: str) -> str:
    """The text that `encrypt` was given.

    A wrong password shows only in its result, so raises WrongCanary for invalid base64, invalid UTF-8 or control
    characters; a token of very few bytes may pass with a wrong password.
    """
    try:
        text = _xor(base64.b64decode(token, validate=True), password).decode()
    except ValueError:
        raise WrongCanary from None
    if _CONTROL.search(text):
        raise WrongCanary
    return text


def _xor(data: bytes, password: str) -> bytes:
    key = hashlib.sha256(password.encode()).digest()
    stream = (key * (len(data) // len(key) + 1))[: len(data)]
    return (int.from_bytes(data) ^ int.from_bytes(stream)).to_bytes(len(data))
