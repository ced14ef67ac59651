"""Converters of keys and values, both ways."""

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
    schema,
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


TABLE: list[Json] = []


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
    """A schema as envelopes have it."""
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
    """A payload that more or less is what the schema says."""
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
