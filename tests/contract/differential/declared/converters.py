"""Deliberate differences of converters, schemas and literals."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from tests.contract.differential.compare import same
from tests.contract.differential.declared.table import Declared, of
from tests.contract.differential.run import Difference

Json = Any
_YEARS = (-62_135_596_800_000, 253_402_300_799_999)
_GREGORIAN = -12_219_292_800_000
_DAY = 86_400_000
_HALF = re.compile("[\ud800-\udfff\ufffd]+")
_IDENTITY = re.compile(rb"\[B@[0-9a-f]+")


def _bytes(answer: Json) -> bytes | None:
    held = answer.get("ok")
    return base64.b64decode(held["b"]) if isinstance(held, dict) and "b" in held else None


def _read(one: Difference) -> bytes:
    return base64.b64decode(one.case.get("data") or "")


def _alike(java: Json, ours: Json, excused: Callable[[Json, Json], bool]) -> bool:
    """Whether two documents are equal except for permitted differences."""
    if same(java, ours) or excused(java, ours):
        return True
    if isinstance(java, dict) and isinstance(ours, dict) and "m" in java and "m" in ours:
        java, ours = ({"m": sorted(node["m"], key=lambda entry: json.dumps(entry[0]))} for node in (java, ours))
    if isinstance(java, dict) and isinstance(ours, dict):
        return java.keys() == ours.keys() and all(_alike(java[name], ours[name], excused) for name in java)
    if isinstance(java, list) and isinstance(ours, list):
        return len(java) == len(ours) and all(_alike(a, b, excused) for a, b in zip(java, ours, strict=True))
    return False


def _excusing(op: str, name: str, excused: Callable[[Json, Json], bool]) -> Callable[[Difference], bool]:
    def covers(one: Difference) -> bool:
        return of(one, op, name) and "ok" in one.java and "ok" in one.ours and _alike(one.java, one.ours, excused)

    return covers


def _entries_in_another_order(one: Difference) -> bool:
    if not (of(one, "from_connect", "JsonConverter") or of(one, "from_header", "JsonConverter")) or one.case.get("key"):
        return False
    java, ours = _bytes(one.java), _bytes(one.ours)
    return java is not None and ours is not None and bool(json.loads(java) == json.loads(ours))


def _dates(node: Json) -> list[int]:
    if isinstance(node, dict):
        return [node["date"]] if set(node) == {"date"} else [ms for part in node.values() for ms in _dates(part)]
    return [ms for part in node for ms in _dates(part)] if isinstance(node, list) else []


def _failed_or_text(one: Difference) -> bool:
    return "ok" in one.java and ("error" in one.ours or (one.case["op"] == "to_header" and _is_text(one)))


def _is_text(one: Difference) -> bool:
    """Whether ours is the text; of a text that starts with blanks but is not an array, only the blanks, as in Java."""
    schema, value = one.ours["ok"]
    text = _read(one).decode("utf-8", "surrogateescape")
    return schema == {"type": "STRING"} and (value == text or (text.startswith(value) and not value.strip()))


def _beyond_years(one: Difference) -> bool:
    if "outside the years 1 to 9999" in one.ours.get("message", ""):
        return True
    found = _dates(one.java) + (_dates(one.case["value"]) if "value" in one.case else [])
    return _failed_or_text(one) and any(not _YEARS[0] <= ms <= _YEARS[1] for ms in found)


def _beyond_years_as_text(java: Json, ours: Json) -> bool:
    """Whether ours is a header (name, schema, value) with text where Java has a date beyond these years."""
    shaped = isinstance(java, list) and isinstance(ours, list) and len(java) == len(ours) == 3
    return shaped and ours[1] == {"type": "STRING"} and any(not _YEARS[0] <= ms <= _YEARS[1] for ms in _dates(java))


def _beyond_a_day(one: Difference) -> bool:
    found = _dates(one.java) + (_dates(one.case["value"]) if "value" in one.case else [])
    named = "connect.data.Time" in json.dumps([one.java, one.case])
    return _failed_or_text(one) and named and any(_DAY <= ms < 100 * _DAY for ms in found)


def _before_1582(java: Json, ours: Json) -> bool:
    dates = [_dates(java), _dates(ours)]
    return all(len(found) == 1 and found[0] < _GREGORIAN + 20 * _DAY for found in dates)


def _negative_zero(java: Json, ours: Json) -> bool:
    return bool(java == {"f": "0000000000000000"} and ours == {"f": "8000000000000000"})


def _beyond_64_bits(java: Json, ours: Json) -> bool:
    if not (isinstance(java, dict) and isinstance(ours, dict) and set(java) == {"i"}):
        return False
    return set(ours) == {"f"} or (set(ours) == {"i"} and not -(2**63) <= int(ours["i"]) < 2**63)


def _bytes_as_text(java: Json, ours: Json) -> bool:
    """Java's text has one or more U+FFFD where ours has escaped bytes."""
    if not isinstance(java, str) or not isinstance(ours, str) or "\ufffd" not in java:
        return False
    return _HALF.sub("?", java) == _HALF.sub("?", ours)


def _bytes_written(one: Difference) -> bool:
    """Unpaired surrogates that escape bytes are written as these bytes, where Java writes question marks."""
    java, ours = _bytes(one.java), _bytes(one.ours)
    if one.case["op"] not in ("from_connect", "from_header") or java is None or ours is None:
        return False
    return b"?" in java and java == re.sub(rb"[\x80-\xff]", b"?", ours)


def _identity(one: Difference) -> bool:
    java, ours = _bytes(one.java), _bytes(one.ours)
    if (
        not of(one, "from_connect", "StringConverter")
        or java is None
        or ours is None
        or b"[B@" not in java.replace(b"\0", b"")
    ):
        return False
    return _IDENTITY.sub(b"", java.replace(b"\0", b"")) == _IDENTITY.sub(b"", ours.replace(b"\0", b""))


_ENCODINGS = ("GBK", "Big5", "EUC-JP", "IBM037", "Shift_JIS", "KOI8-R")


def _rare_encoding(one: Difference) -> bool:
    return bool(one.case.get("config", {}).get("converter.encoding") in _ENCODINGS)


def _struct_default(one: Difference) -> bool:
    refused = (
        one.java.get("error", "").endswith("SchemaBuilderException") and one.java["message"] == "Invalid default value"
    )
    return refused and of(one, "to_connect", "JsonConverter") and b'"type":"struct"' in _read(one).replace(b" ", b"")


def _refused_extremes(one: Difference) -> bool:
    raw = _read(one)
    deep = min(raw.count(b"["), raw.count(b"]")) > 1000 or min(raw.count(b"{"), raw.count(b"}")) > 1000
    extreme = deep or b"\\ud" in raw or re.search(rb"[0-9]{1001}", raw) is not None
    return of(one, "to_connect", "JsonConverter") and "serialization error" in one.java.get("message", "") and extreme


def _empty_message(one: Difference) -> bool:
    return of(one, "to_connect", "JsonConverter") and "schema.content" in one.case["config"] and _read(one) == b""


def _whole_for_float(one: Difference) -> bool:
    return "error" in one.java and "class java.lang.Long" in one.java["message"] and "ok" in one.ours and any(
        kind in one.java["message"] for kind in ("FLOAT32", "FLOAT64")
    )  # fmt: skip


def _number_without_width(one: Difference) -> bool:
    narrow = one.case.get("class", "").endswith(("ShortConverter", "IntegerConverter", "FloatConverter"))
    return narrow and one.case.get("schema", "") is None and "error" in one.java and "ok" in one.ours


def _null_pointer(one: Difference) -> bool:
    return one.kind == "message" and one.java["error"] == one.ours["error"] == "java.lang.NullPointerException"


def _another_kind_of_date(one: Difference) -> bool:
    return one.case["op"] == "validate" and "ok" in one.java and "class java.util.Date" in one.ours.get("message", "")


def _map_of_odd_keys(one: Difference) -> bool:
    return of(one, "to_header", "SimpleHeaderConverter") and '"m"' in json.dumps(one.java) and _is_text(one)


DECLARED: tuple[Declared, ...] = (
    Declared("Order of the entries of maps in JSON objects", _entries_in_another_order),
    Declared("-0.0 inside of JSON without schemas", _excusing("to_connect", "JsonConverter", _negative_zero)),
    Declared(
        "Whole numbers beyond 64 bits inside of JSON without schemas",
        _excusing("to_connect", "JsonConverter", _beyond_64_bits),
    ),
    Declared("Dates and timestamps beyond the years 1 to 9999", _beyond_years),
    Declared(
        "Dates and timestamps beyond the years 1 to 9999",
        _excusing("transform", "InsertHeader", _beyond_years_as_text),
    ),
    Declared("A time of day of exactly 24:00", _beyond_a_day),
    Declared("Dates before 15 October 1582 as text", _excusing("to_header", "SimpleHeaderConverter", _before_1582)),
    Declared(
        "StringConverter and bytes that are not UTF-8", _excusing("to_connect", "StringConverter", _bytes_as_text)
    ),
    Declared(
        "StringConverter and bytes that are not UTF-8", _excusing("to_header", "SimpleHeaderConverter", _bytes_as_text)
    ),
    Declared("StringConverter and bytes that are not UTF-8", _bytes_written),
    Declared("Character encodings other than UTF-8", _rare_encoding),
    Declared("The text of byte arrays", _identity),
    Declared("A struct's own default in a JSON envelope", _struct_default),
    Declared("JSON 1,001 to 1,024 deep", _refused_extremes),
    Declared("An empty message with `schema.content`", _empty_message),
    Declared("Whole numbers for `float32` and `float64` fields", _whole_for_float),
    Declared("Numbers without schemas in ShortConverter", _number_without_width),
    Declared("Header literals of maps whose keys", _map_of_odd_keys),
    Declared("A map's schema without schemas of keys and values", _null_pointer),
    Declared("Dates, times of day and timestamps", _another_kind_of_date),
)
