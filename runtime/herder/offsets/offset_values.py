"""What source partitions and offsets may hold: JSON that comes back as it was given, from any worker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runtime.herder.errors import BadRequest

MAX_DEPTH = 100
"""Levels of nesting."""


def check_values(entries: Sequence[tuple[Any, Any]], first: int = 0) -> None:
    """BadRequest names what cannot be kept: numbers beyond 64 bits or not finite, halves of surrogate pairs."""
    for i, (partition, offset) in enumerate(entries, first):
        _check(partition, f"offsets[{i}].partition", MAX_DEPTH)
        _check(offset, f"offsets[{i}].offset", MAX_DEPTH)


def _check(value: Any, where: str, deeper: int) -> None:
    if deeper == 0:
        raise BadRequest(f"{where} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, f"a key in {where}")
            _check(item, f"{where}.{key}", deeper - 1)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check(item, f"{where}[{i}]", deeper - 1)
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadRequest(f"{where} is a number too large for a 64-bit float")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise BadRequest(f"{where} is {value}, which does not fit into 64 bits")


def _check_text(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{where} has half of a surrogate pair, which is no text") from None
