"""Positions in PostgreSQL's write-ahead log (LSN): numbers here and in offsets, text in SQL."""

from __future__ import annotations


def lsn_text(lsn: int) -> str:
    """A position as PostgreSQL prints it, such as 16/B374D848."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """The inverse of lsn_text(); ValueError for any other text."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
