"""Compact JSON, as it stands in the keys and values of the offsets topic."""

from __future__ import annotations

from typing import Any

import orjson


def compact(value: Any) -> bytes:
    """No blanks, UTF-8, keys in the order given."""
    try:
        return orjson.dumps(value)
    except TypeError:  # integers beyond 64 bits, keys that are no strings
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def canonical(partition: Any) -> bytes:
    """The same bytes for equal partitions, whatever the order of their keys."""
    try:
        return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        import json

        return json.dumps(partition, separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode()
