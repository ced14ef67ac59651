"""OffsetCodec: reads and writes the keys and values of offset records, as the worker's offset converters do.

Since Connect 3.0 they are JSON without schemas; `internal.key.converter` and `internal.value.converter` in older files
may select JSON with schemas.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from runtime.api.java_compat.jackson import compact_copy
from runtime.kafka.formats import compact
from runtime.offsets_tool.errors import BadInput

NONE = b"null"

_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_LONG_NUMBER = re.compile(rb"\d{18}")  # orjson rounds integers beyond 64 bits


_SEPARATOR = b',"%b",' % secrets.token_hex(16).encode()


class MalformedOffset(Exception):
    """The record has a format that no Connect worker writes."""


@dataclass(frozen=True, slots=True)
class OffsetCodec:
    """Format of keys and values. Written keys and values have `{"schema":…,"payload":…}` if the flag is set; both
    formats are read."""

    key_schema: bool = False
    value_schema: bool = False

    def key(self, data: bytes) -> tuple[str, Any]:
        """Connector and partition. Raises MalformedOffset."""
        parsed = _payload(_parse(data))
        if not isinstance(parsed, list) or len(parsed) != 2 or not isinstance(parsed[0], str):
            raise MalformedOffset("the key is not a connector's name and a partition")
        if parsed[1] is not None and not isinstance(parsed[1], dict):
            raise MalformedOffset("the partition is not a JSON object")
        return parsed[0], parsed[1]

    def value(self, data: bytes) -> bytes:
        """The offset as JSON, `null` for none. Raises MalformedOffset."""
        try:
            parsed = orjson.loads(data)
        except ValueError:
            parsed = _parse(data)
        if type(parsed) is dict and "schema" not in parsed:  # the usual case
            return data
        offset = _payload(parsed)
        if offset is not None and not isinstance(offset, dict):
            raise MalformedOffset("the offset is not a JSON object")
        return data if offset is parsed else compact(_payload(_parse(data)))

    def are_plain(self, values: Sequence[bytes]) -> bool:
        """Whether each of these values is an offset without a schema, checked at once for many."""
        parsed = _parse_many(values)
        return parsed is not None and all(type(entry) is dict and "schema" not in entry for entry in parsed)

    def make_key(self, connector: str, partition: bytes) -> bytes:
        """The key of a partition, whose JSON is unchanged: Java's workers look offsets up by these bytes, and the
        order of keys in them depends on the connector."""
        key = b"[%b,%b]" % (compact(connector), partition)
        return _wrapped(key) if self.key_schema else key

    def make_value(self, offset: bytes) -> bytes:
        return _wrapped(offset) if self.value_schema else offset


def codec(properties: Mapping[str, str]) -> OffsetCodec:
    """The codec that a worker's properties select. Raises BadInput for other converters than JSON."""
    return OffsetCodec(_schemas(properties, "key"), _schemas(properties, "value"))


def are_canonical(keys: Sequence[bytes]) -> bool:
    """Whether each of these is a key without a schema whose maps are sorted, checked at once for many.

    False if a fast parser changes a key, for example by rounding a long number.
    """
    parsed = _parse_many(keys)
    if parsed is None or not all(
        type(entry) is list and len(entry) == 2 and type(entry[1]) is dict for entry in parsed
    ):
        return False
    return orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS) == b"[%b]" % b",".join(keys)


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, so that equal values have equal bytes (but 1, 1.0 and true differ)."""
    try:
        return compact_copy(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _schemas(properties: Mapping[str, str], which: str) -> bool:
    prefix = f"internal.{which}.converter"
    cls = properties.get(prefix, _JSON_CONVERTER)
    if cls not in (_JSON_CONVERTER, "JsonConverter", "Json"):
        raise BadInput(f"{prefix}={cls}: this tool supports offsets in JSON only ({_JSON_CONVERTER})")
    default = "true" if prefix in properties else "false"
    return properties.get(f"{prefix}.schemas.enable", default).strip().lower() == "true"


def _parse(data: bytes) -> Any:
    try:
        if _LONG_NUMBER.search(data):
            return json.loads(data)
        return orjson.loads(data)
    except (ValueError, RecursionError):
        raise MalformedOffset("not JSON") from None


def _parse_many(texts: Sequence[bytes]) -> list[Any] | None:
    """The values of many JSON texts, parsed at once; None if one of them is not JSON.

    The texts are joined by a random separator, so that two fragments cannot form a valid text.
    """
    try:
        parsed = orjson.loads(b"[%b]" % _SEPARATOR.join(texts))
    except ValueError:
        return None
    separator = _SEPARATOR[2:-2].decode()
    if len(parsed) != max(2 * len(texts) - 1, 0) or any(line != separator for line in parsed[1::2]):
        return None
    keys: list[Any] = parsed[::2]
    return keys


def _payload(parsed: Any) -> Any:
    return parsed["payload"] if isinstance(parsed, dict) and parsed.keys() == {"schema", "payload"} else parsed


def _wrapped(payload: bytes) -> bytes:
    return b'{"schema":null,"payload":' + payload + b"}"


def report_ignored(key: bytes | None, why: MalformedOffset) -> None:
    """Reports on standard error that a record is skipped."""
    print(f"headrace offsets: ignoring the record with key {key!r}: {why}", file=sys.stderr)
