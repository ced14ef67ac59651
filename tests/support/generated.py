"""Generated records of twenty fields, for comparisons of converters with independent implementations."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from runtime.api.data.schema import Field, Schema, Type

_KINDS = (
    *((f"text{n}", Type.STRING) for n in range(8)), *((f"int{n}", Type.INT32) for n in range(4)),
    *((f"long{n}", Type.INT64) for n in range(4)), ("double0", Type.FLOAT64), ("double1", Type.FLOAT64),
    ("flag0", Type.BOOLEAN), ("flag1", Type.BOOLEAN),
)  # fmt: skip
TWENTY = Schema(
    Type.STRUCT, name="com.example.Twenty", fields=tuple(Field(name, Schema(kind)) for name, kind in _KINDS)
)
_TEXTS = ("", "a", "Löve", "日本", "😀", "a\nb", '"quoted"', "x" * 200)


def records(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Records of the schema TWENTY, extreme values among them."""
    draw = random.Random(seed)
    makers: dict[Type, Callable[[], Any]] = {
        Type.STRING: lambda: draw.choice(_TEXTS) + str(draw.randrange(1000)) if draw.random() < 0.9 else "",
        Type.INT32: lambda: draw.choice((0, -1, 2**31 - 1, -(2**31), draw.randrange(100_000))),
        Type.INT64: lambda: draw.choice((0, -1, 2**63 - 1, -(2**63), draw.randrange(2**40))),
        Type.FLOAT64: lambda: draw.choice((0.0, -1.5, 1e300, draw.random())),
        Type.BOOLEAN: lambda: draw.random() < 0.5,
    }
    for _ in range(count):
        yield {name: makers[kind]() for name, kind in _KINDS}
