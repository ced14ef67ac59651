"""Values of many kinds, for plugins that must not fail on records that they do not expect."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    struct_schema,
)

_ORDER = struct_schema({"id": INT64_SCHEMA, "text": OPTIONAL_STRING_SCHEMA, "at": TIMESTAMP_SCHEMA})

VALUES: Sequence[tuple[Schema | None, Any]] = (
    (None, None),
    (OPTIONAL_STRING_SCHEMA, None),
    (STRING_SCHEMA, "text"),
    (STRING_SCHEMA, ""),
    (INT64_SCHEMA, 1),
    (FLOAT64_SCHEMA, 1.5),
    (BOOLEAN_SCHEMA, True),
    (BYTES_SCHEMA, b"\x00\xff"),
    (decimal_schema(2), Decimal("1.25")),
    (_ORDER, {"id": 1, "text": None, "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}),
    (_ORDER, {"id": 2, "text": "b", "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}),
    (None, "text"),
    (None, 1),
    (None, [1, "a", None]),
    (None, {"id": 1, "nested": {"list": [1, 2], "map": {"a": 1}}, "missing": None}),
    (None, {}),
)
"""Schema and value of each."""
