"""Whole numbers out of addresses and forms, as far as a database can look for them. Imports no Django."""

DIGITS = 18  # of what every database stores; Python itself refuses to read more than 4300


def read_whole(text: str) -> int | None:
    """The number written in at most 18 digits 0 to 9; None for every other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else None
