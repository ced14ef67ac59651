"""The text that Java's toString() gives for Connect's values: what StringConverter and the file sink write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from runtime.api.schema import Schema, Type


def java_text(value: Any, schema: Schema | None = None) -> str:
    """`null`, `true`, `1.0E8`, `[1, a]`, `{a=1, b=x}` in the order of a HashMap, `Struct{a=1}`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value, single=schema is not None and schema.type is Type.FLOAT32)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[B@{hash(bytes(value)) & 0xFFFFFFFF:x}"  # Java prints an identity, never the content
    if isinstance(value, Mapping):
        return _struct(value, schema) if schema is not None and schema.type is Type.STRUCT else _map(value, schema)
    if isinstance(value, Sequence):
        items = schema.values if schema is not None else None
        return "[" + ", ".join(java_text(item, items) for item in value) + "]"
    return str(value)


def _struct(value: Mapping[str, Any], schema: Schema) -> str:
    """Fields in the schema's order; those without a value are left out."""
    fields = [
        f"{field.name}={java_text(value[field.name], field.schema)}"
        for field in schema.fields
        if value.get(field.name) is not None
    ]
    return "Struct{" + ",".join(fields) + "}"


def _map(value: Mapping[Any, Any], schema: Schema | None) -> str:
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    pairs = [f"{java_text(key, keys)}={java_text(value[key], values)}" for key in _hash_map_order(value)]
    return "{" + ", ".join(pairs) + "}"


def _hash_map_order(value: Mapping[Any, Any]) -> list[Any]:
    """Keys as java.util.HashMap iterates over them: by bucket, in a bucket as they were put."""
    buckets = 16
    while len(value) > buckets * 3 // 4:
        buckets *= 2
    return sorted(value, key=lambda key: _spread_hash(key) & (buckets - 1))


def _spread_hash(key: Any) -> int:
    code = _hash_code(key)
    return code ^ (code >> 16)


def _hash_code(key: Any) -> int:
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return (key ^ (key >> 32)) & 0xFFFFFFFF
    code = 0
    units = java_text(key).encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def float_text(value: float, single: bool = False) -> str:
    """A double as Java prints it: `1000.0`, `1.0E8`, `1.5E-5`, `NaN`, `Infinity`."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if str(value)[0] == "-" else "0.0"
    sign, digits, exponent = Decimal(_shortest_single(value) if single else repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # digits before the decimal point
    minus = "-" if sign else ""
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        text = text.ljust(point, "0")
        return f"{minus}{text[:point]}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _shortest_single(value: float) -> str:
    """The fewest digits that mean the same 32 bit float."""
    import struct

    packed = struct.pack("f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        if struct.pack("f", float(text)) == packed:
            return text
    return f"{value:.9g}"
