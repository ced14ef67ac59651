"""Cases: tables of inputs that are known to be tricky, and generated ones.

Each module has `TABLE`, a list of cases, and `generated(random, count)`. A case is a document as Referee.java reads it.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases import (
    cast_table,
    converters,
    dates,
    headers,
    jaas,
    json_table,
    patterns,
    schemas,
    transform_table,
    transforms,
)

_MODULES: tuple[tuple[Any, int], ...] = (
    (converters, 3), (json_table, 0), (headers, 2), (schemas, 1), (transforms, 3), (transform_table, 1), (patterns, 1),
    (dates, 1), (cast_table, 0), (jaas, 1),
)  # fmt: skip
"""Modules, and how many of twelve generated cases each contributes."""


def tables() -> list[dict[str, Any]]:
    """The hand-written cases."""
    return [case for module, _ in _MODULES for case in module.TABLE]


def generated(seed: int, size: int) -> list[dict[str, Any]]:
    """About `size` cases; the same for the same seed and size."""
    return [
        case
        for number, (module, share) in enumerate(_MODULES)
        if share
        for case in module.generated(Random(seed * 100 + number), size * share // 12)
    ]
