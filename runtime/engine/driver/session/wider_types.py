"""Types of Spark's columns that hold all numbers of other types."""

from __future__ import annotations

import re

_ORDERED = (("tinyint", "smallint", "int", "bigint"), ("float", "double"))
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def is_wider(kind: str, other: str) -> bool:
    """Whether a type, by its name in SQL, holds all numbers of another one and more."""
    for names in _ORDERED:
        if kind in names and other in names:
            return names.index(kind) > names.index(other)
    first, second = _DECIMAL.fullmatch(kind), _DECIMAL.fullmatch(other)
    if first is None or second is None or kind == other:
        return False
    (precision, scale), (other_precision, other_scale) = map(int, first.groups()), map(int, second.groups())
    return scale >= other_scale and precision - scale >= other_precision - other_scale
