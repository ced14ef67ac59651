"""Converters of keys and values, in both directions."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any

from tests.contract.differential.cases.data import (
    DATE,
    DECIMAL,
    PLAIN,
    TIME,
    TIMESTAMP,
    Chance,
    data,
    double,
    integer,
    schema,
    struct_of,
)

Json = Any
_K = "org.apache.kafka.connect."
JSON, STRING, BYTES = f"{_K}json.JsonConverter", f"{_K}storage.StringConverter", f"{_K}converters.ByteArrayConverter"
NUMBERS = [f"{_K}converters.{kind}Converter" for kind in ("Short", "Integer", "Long", "Float", "Double", "Boolean")]
PLAIN_JSON = {"schemas.enable": "false"}


def read(name: str, raw: bytes | None, config: Json = None, key: bool = False) -> Json:
    held = None if raw is None else base64.b64encode(raw).decode()
    return {"op": "to_connect", "class": name, "config": config or {}, "key": key, "data": held}


def written(name: str, of: Json, value: Json, config: Json = None, key: bool = False) -> Json:
    return {"op": "from_connect", "class": name, "config": config or {}, "key": key, "schema": of, "value": value}


_ENCODINGS = [
    "UTF-8", "utf8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-32BE", "US-ASCII", "ascii", "ISO-8859-1",
    "latin1", "windows-1252", "Cp1252", "ISO-8859-15", "Shift_JIS", "GBK", "Big5", "EUC-JP", "IBM037", "KOI8-R",
    "", "nope", "a b",
]  # fmt: skip
_WORDS = [
    "",
    "a",
    "ä€",
    "\U0001f600x",
    "\x81\x9d",
    "\ud800",
    "\udc80",
    "日本",
    "ж",
    "a\n\x00",
    "\u2028\xa0",
    "\ufeffa",
    "~\\",
]
_RAW = [b"", b"a", b"\xe4", b"\xc3\xa4", b"\x81\x8d", b"\xfe\xff\x00a", b"\xff\xfea\x00", b"a\x00b", b"\x00a",
        b"\xd8\x00\x00a",
        b"\xff\xfe\x00\x00a\x00\x00\x00", b"\x93\xfa\x96\x7b", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80",
        b"\xf0\x9f"]  # fmt: skip
_NUMBERS = [
    *(integer(n) for n in (0, -1, 127, 128, 32767, 32768, 2**31 - 1, 2**31, 2**63 - 1, 2**63)), True, "x", None,
    *(double(n) for n in (0.0, -0.0, 1.5, 1e39, float("inf"))), *({"f": bits} for bits in (
        "7ff8000000000001", "fff8000000000000", "7ff0000000000001")), data(b"\x01"), {"a": []}, {"m": []},
]  # fmt: skip
_BITS = ["7fc00000", "7fc00001", "ffc00000", "7f800001", "80000000", "3dcccccd", "7ff8000000000001", "fff0000000000001",
         "8000000000000000", "", "00", "0000", "01", "02", "0001", "000000"]  # fmt: skip
_PREFIXED = ["encoding", "converter.encoding", "value.converter.encoding", "key.converter.encoding",
             "serializer.encoding",
             "value.serializer.encoding", "value.deserializer.encoding", "key.deserializer.encoding"]  # fmt: skip
_PEOPLE = struct_of({"a": schema("INT32"), "b": schema("STRING", optional=True, default="d")})
TABLE: list[Json] = [
    *(read(STRING, raw, {"converter.encoding": name}) for name in _ENCODINGS for raw in _RAW),
    *(written(STRING, None, text, {"converter.encoding": name}) for name in _ENCODINGS for text in _WORDS),
    *(case for name in _PREFIXED for key in (True, False) for config in ({name: "UTF-16BE"},)
      for case in (read(STRING, b"\x00a", config, key), written(STRING, None, "a", config, key))),
    *(written(name, None, value) for name in (*NUMBERS, BYTES, STRING) for value in _NUMBERS),
    *(written(name, schema(kind), {"f": bits}) for name in NUMBERS for kind in ("FLOAT32", "FLOAT64")
      for bits in ("7ff8000000000001", "fff8000000000000", "3fb99999a0000000")),
    *(written(name, schema(kind, optional=True), None) for name in (*NUMBERS, BYTES)
      for kind in ("INT8", "STRING", "BYTES")),
    *(read(name, bytes.fromhex(bits)) for name in (*NUMBERS, BYTES) for bits in _BITS),
    *(read(name, None) for name in (*NUMBERS, BYTES, STRING)),
    *(written(STRING, _PEOPLE, {"st": pairs}) for pairs in ([["a", integer(1)]], [["b", "x"]], [])),
]  # fmt: skip


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    makers = [_json_written, _json_read, _json_read, _text, _number]
    return [makers[n % len(makers)](chance) for n in range(count)]


def _json_config(chance: Chance) -> Json:
    config = {}
    if chance.random.random() < 0.4:
        config["schemas.enable"] = "false"
    if chance.random.random() < 0.3:
        config["decimal.format"] = "NUMERIC"
    if chance.random.random() < 0.3:
        config["replace.null.with.default"] = "false"
    return config


def _json_written(chance: Chance) -> Json:
    of = chance.often(chance.schema(), None, 0.8)
    value = chance.value(of if chance.random.random() < 0.95 else chance.schema(0))
    return written(JSON, of, value, _json_config(chance))


def _json_read(chance: Chance) -> Json:
    config = _json_config(chance)
    text = json.dumps(_payload(chance), ensure_ascii=chance.random.random() < 0.5)
    if config.get("schemas.enable") != "false":
        of = None if chance.random.random() < 0.1 else _envelope_schema(chance, chance.schema())
        payload = _payload(chance) if of is None or chance.random.random() < 0.1 else _of_schema(chance, of)
        text = json.dumps(
            {"schema": of, "payload": payload}, separators=(",", ":") if chance.random.random() < 0.7 else None
        )
    raw = text.encode("utf-8", "surrogatepass")
    if chance.random.random() < 0.05:
        raw = raw[: chance.random.randrange(len(raw) + 1)]
    return read(JSON, raw, config)


_SPELLED = {"FLOAT32": "float", "FLOAT64": "double"}


def _envelope_schema(chance: Chance, of: Json) -> Json:
    """A schema in the form of JSON envelopes."""
    made: dict[str, Any] = {"type": _SPELLED.get(of["type"], of["type"].lower()), "optional": of.get("optional", False)}
    made |= {name: of[name] for name in ("name", "version", "doc") if name in of}
    if "parameters" in of:
        made["parameters"] = dict(of["parameters"])
    if of["type"] == "STRUCT":
        made["fields"] = [{**_envelope_schema(chance, inner), "field": name} for name, inner in of["fields"]]
    if of["type"] == "MAP":
        made["keys"], made["values"] = _envelope_schema(chance, of["keys"]), _envelope_schema(chance, of["values"])
    if of["type"] == "ARRAY":
        made["items"] = _envelope_schema(chance, of["values"])
    if "default" in of:
        made["default"] = _of_schema(chance, made)
    return made


def _of_schema(chance: Chance, of: Json) -> Json:
    """A payload that more or less matches the schema."""
    random = chance.random
    if random.random() < (0.25 if of["optional"] else 0.02):
        return None
    if random.random() < 0.03:
        return _payload(chance)
    kind = of["type"]
    if kind == "struct":
        return {field["field"]: _of_schema(chance, field) for field in of["fields"] if random.random() < 0.93}
    if kind == "array":
        return [_of_schema(chance, of["items"]) for _ in range(random.randrange(3))]
    if kind == "map" and of["keys"]["type"] == "string":
        return {chance.text(): _of_schema(chance, of["values"]) for _ in range(random.randrange(3))}
    if kind == "map":
        return [[_of_schema(chance, of["keys"]), _of_schema(chance, of["values"])] for _ in range(random.randrange(3))]
    return _scalar(chance, of)


def _scalar(chance: Chance, of: Json) -> Json:
    kind, name = of["type"], of.get("name")
    if name == DECIMAL and chance.random.random() < 0.4:
        return chance.one([1, 1.5, -0.0, 1e10, 12345678901234567890])
    if kind == "bytes":
        return base64.b64encode(chance.raw()).decode()
    if name in (DATE, TIME, TIMESTAMP):
        return chance.one([0, 1, 18131, 86_399_999, -1])
    if kind.startswith("int"):
        return chance.whole(int(kind[3:]))
    if kind in ("float", "double"):
        return chance.one([0.0, -0.0, 1.5, 0.1, 1e300, 5, -7, 1e-300])
    return chance.one([True, False]) if kind == "boolean" else chance.text()


def _payload(chance: Chance, depth: int = 2) -> Json:
    roll = chance.random.random()
    if depth and roll < 0.4:
        return {chance.one(["a", "b", "ä", "", "payload", "schema"]): _payload(chance, depth - 1) for _ in range(2)}
    if depth and roll < 0.5:
        return [_payload(chance, depth - 1) for _ in range(chance.random.randrange(3))]
    return chance.one(
        [None, True, False, chance.text(), 0, -1, 1.5, -0.0, 2**31, 2**62, 1e10, 123456.789, chance.whole(64)]
    )


def _text(chance: Chance) -> Json:
    config: Json = chance.often({}, {"converter.encoding": chance.one(["UTF-16", "ISO-8859-1", "US-ASCII"])}, 0.6)
    if chance.random.random() < 0.5:
        return read(
            STRING, chance.raw() if chance.random.random() < 0.5 else chance.text().encode("utf-8", "replace"), config
        )
    of = chance.often(chance.schema(), None, 0.6)
    return written(STRING, of, chance.value(of), config)


def _number(chance: Chance) -> Json:
    name = chance.one([*NUMBERS, BYTES])
    if chance.random.random() < 0.5:
        return read(name, chance.random.randbytes(chance.one([0, 1, 2, 4, 4, 8, 8, 9])))
    of = chance.often(schema(chance.one(PLAIN), **chance.often({}, {"optional": True})), None)
    return written(name, of, chance.value(of))
