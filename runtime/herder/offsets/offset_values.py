"""Checks that source partitions and offsets are JSON that every worker stores and returns unchanged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runtime.herder.errors import BadRequest

MAX_DEPTH = 100
"""The most levels of nesting."""


def check_values(entries: Sequence[tuple[Any, Any]], first: int = 0) -> None:
    """Raises BadRequest, which names a value that cannot be stored: a number beyond 64 bits or not finite, or half of a
    surrogate pair. `first` is the index of the first entry in the request."""
    for i, (partition, offset) in enumerate(entries, first):
        _check(partition, f"offsets[{i}].partition", MAX_DEPTH)
        _check(offset, f"offsets[{i}].offset", MAX_DEPTH)


def _check(value: Any, where: str, depth_left: int) -> None:
    if depth_left == 0:
        raise BadRequest(f"{where} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, f"a key in {where}")
            _check(item, f"{where}.{key}", depth_left - 1)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check(item, f"{where}[{i}]", depth_left - 1)
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadRequest(f"{where} is a number too large for a 64-bit float")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise BadRequest(f"{where} is {value}, which does not fit in 64 bits")


def _check_text(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{where} contains half of a surrogate pair, which is not valid text") from None
