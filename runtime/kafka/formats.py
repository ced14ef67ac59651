"""The formats of Connect's storage topics: compact JSON, and the keys of source offsets."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from runtime.api.errors import DataError
from runtime.api.java_compat.jackson import compact_copy, jackson_bytes


def compact(value: object) -> bytes:
    """Compact UTF-8 JSON, as Connect's own converter writes it. DataError if it cannot."""
    try:
        return compact_copy(jackson_bytes(orjson.dumps(value, _base64)))
    except TypeError:  # integers beyond 64 bits, keys that are not strings, lone surrogates
        return json.dumps(value, separators=(",", ":"), default=_base64).encode()


def offset_key(connector: str, partition: Mapping[str, Any] | None) -> bytes:
    """The key under which the offset of a source partition is stored for the first time."""
    return compact([connector, java_ordered(partition)])


def canonical(value: object) -> str:
    """Text that is equal for equal partitions regardless of the order of keys; 1, 1.0 and true differ. DataError if the
    value is not JSON."""
    try:
        return orjson.dumps(value, _base64, orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_base64)


def _base64(value: object) -> str:
    """Bytes as Connect's own converter writes them, and so reads them back: as text."""
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    raise DataError(
        f"A value of class {type(value).__name__} cannot be stored: source partitions and offsets may contain texts, "
        "numbers, booleans, bytes and null"
    )


def java_ordered(value: Any) -> Any:
    """The value with the entries of every map in the iteration order of Java's HashMap.

    Java workers put user-given partitions into such maps before they write them, and look offsets up by the exact
    bytes: in any other order an offset written here would be invisible to them after the cluster is handed back."""
    if isinstance(value, Mapping):
        return {k: java_ordered(value[k]) for k in java_order(value)}
    if isinstance(value, list):
        return [java_ordered(item) for item in value]
    return value


def java_order(keys: Collection[str]) -> list[str]:
    """The keys in the iteration order of a HashMap that has received them one after another."""
    size = 16
    while len(keys) > size * 3 // 4:
        size *= 2
    return _in_buckets(keys, size)


def java_copied(value: Mapping[str, Any], added: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entries in the iteration order of a HashMap that was created as a copy of `value` and then received
    `added`."""
    size = 1
    while size < len(value) / 0.75 + 1:
        size *= 2
    whole = {**value, **(added or {})}
    while len(whole) > size * 3 // 4:
        size *= 2
    return {k: whole[k] for k in _in_buckets(whole, size)}


def _in_buckets(keys: Iterable[str], size: int) -> list[str]:
    return sorted(keys, key=lambda k: _spread(k) & (size - 1))  # stable: a bucket keeps insertion order


@lru_cache(65_536)  # the same few keys, and the names of all connectors
def _spread(key: str) -> int:
    """Java's String.hashCode() with the high bits folded in."""
    units = key.encode("utf-16-be", "surrogatepass")
    h = 0
    for i in range(0, len(units), 2):
        h = (31 * h + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return h ^ (h >> 16)
