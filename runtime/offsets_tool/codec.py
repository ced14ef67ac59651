"""Between the bytes of an offset record and its parts, as the worker's offset converters have them.

Since Connect 3.0 that is JSON without schemas; `internal.key.converter` and `internal.value.converter` of older files
may ask for JSON with schemas.
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

from runtime.kafka.formats import compact
from runtime.offsets_tool.errors import BadInput

NONE = b"null"

_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_LONG_NUMBER = re.compile(rb"\d{18}")  # orjson rounds integers beyond 64 bits


_BETWEEN = b',"%b",' % secrets.token_hex(16).encode()


class MalformedRecord(Exception):
    """A record that no Connect worker would have written."""


@dataclass(frozen=True, slots=True)
class OffsetCodec:
    """Whether keys and values are wrapped in `{"schema":…,"payload":…}` when they are written; reading takes both."""

    key_schema: bool = False
    value_schema: bool = False

    def key(self, data: bytes) -> tuple[str, Any]:
        """Connector and partition. MalformedRecord."""
        parsed = _payload(_parse(data))
        if not isinstance(parsed, list) or len(parsed) != 2 or not isinstance(parsed[0], str):
            raise MalformedRecord("the key is not a connector's name and a partition")
        if parsed[1] is not None and not isinstance(parsed[1], dict):
            raise MalformedRecord("the partition is not a JSON object")
        return parsed[0], parsed[1]

    def value(self, data: bytes) -> bytes:
        """The offset as JSON, `null` for none. MalformedRecord."""
        try:
            parsed = orjson.loads(data)
        except ValueError:
            parsed = _parse(data)
        if type(parsed) is dict and "schema" not in parsed:  # as nearly all are
            return data
        offset = _payload(parsed)
        if offset is not None and not isinstance(offset, dict):
            raise MalformedRecord("the offset is not a JSON object")
        return data if offset is parsed else compact(_payload(_parse(data)))

    def are_plain(self, values: Sequence[bytes]) -> bool:
        """Whether each of these is the offset itself, as nearly all are: one question for many."""
        parsed = _together(values)
        return parsed is not None and all(type(one) is dict and "schema" not in one for one in parsed)

    def make_key(self, connector: str, partition: bytes) -> bytes:
        """The partition's JSON stays as it is: Java's workers look offsets up by these very bytes, and only the
        connector knows in which order its maps are written."""
        key = b"[%b,%b]" % (compact(connector), partition)
        return _wrapped(key) if self.key_schema else key

    def make_value(self, offset: bytes) -> bytes:
        return _wrapped(offset) if self.value_schema else offset


def codec(properties: Mapping[str, str]) -> OffsetCodec:
    """The codec of a worker's file; BadInput for converters this tool does not have."""
    return OffsetCodec(_schemas(properties, "key"), _schemas(properties, "value"))


def are_canonical(keys: Sequence[bytes]) -> bool:
    """Whether each of these is a key without a schema, its maps in order: one question for many. A key that comes back
    from a fast parser as something else (numbers that are too long are rounded) needs a closer look too."""
    parsed = _together(keys)
    if parsed is None or not all(type(one) is list and len(one) == 2 and type(one[1]) is dict for one in parsed):
        return False
    return orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS) == b"[%b]" % b",".join(keys)


def canonical(value: Any) -> bytes:
    """JSON that is equal for equal values, whatever the order of their keys (but 1, 1.0 and true differ)."""
    try:
        return kept(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def kept(found: bytes) -> bytes:
    """A copy of what orjson gave, for keeping: its own holds on to a kilobyte and more."""
    return bytes(memoryview(found))


def _schemas(properties: Mapping[str, str], which: str) -> bool:
    prefix = f"internal.{which}.converter"
    cls = properties.get(prefix, _JSON_CONVERTER)
    if cls not in (_JSON_CONVERTER, "JsonConverter", "Json"):
        raise BadInput(f"{prefix}={cls}: this tool reads offsets that are JSON ({_JSON_CONVERTER})")
    default = "true" if prefix in properties else "false"
    return properties.get(f"{prefix}.schemas.enable", default).strip().lower() == "true"


def _parse(data: bytes) -> Any:
    try:
        if _LONG_NUMBER.search(data):
            return json.loads(data)
        return orjson.loads(data)
    except (ValueError, RecursionError):
        raise MalformedRecord("not JSON") from None


def _together(texts: Sequence[bytes]) -> list[Any] | None:
    """What JSON texts stand for, in one go; None when one of them is no JSON. What stands between them nobody can
    know, so that halves in two of them do not make a whole."""
    try:
        parsed = orjson.loads(b"[%b]" % _BETWEEN.join(texts))
    except ValueError:
        return None
    between = _BETWEEN[2:-2].decode()
    if len(parsed) != max(2 * len(texts) - 1, 0) or any(one != between for one in parsed[1::2]):
        return None
    found: list[Any] = parsed[::2]
    return found


def _payload(parsed: Any) -> Any:
    return parsed["payload"] if isinstance(parsed, dict) and parsed.keys() == {"schema", "payload"} else parsed


def _wrapped(payload: bytes) -> bytes:
    return b'{"schema":null,"payload":' + payload + b"}"


def ignored(key: bytes | None, why: MalformedRecord) -> None:
    """Say that a record was left out."""
    print(f"headrace offsets: ignoring the record with key {key!r}: {why}", file=sys.stderr)
