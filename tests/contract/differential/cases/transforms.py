"""Transformations and predicates of single records."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.contract.differential.cases.data import NAMES, Chance

Json = Any
_K = "org.apache.kafka.connect.transforms."


def record(
    value: Json, of: Json = None, key: Json = None, key_schema: Json = None, headers: Json = (), *, sink: bool = True,
    topic: str = "topic", timestamp: int | None = 1_566_570_894_346, partition: int | None = 0, offset: int = 42,
) -> Json:  # fmt: skip
    return {
        "sink": sink, "topic": topic, "partition": partition, "offset": offset, "timestamp": timestamp,
        "key": [key_schema, key], "value": [of, value], "headers": list(headers),
    }  # fmt: skip


def transformed(name: str, config: Json, of: Json) -> Json:
    return {"op": "transform", "class": _K + name, "config": config, "record": of}


def tested(name: str, config: Json, of: Json) -> Json:
    return {"op": "predicate", "class": f"{_K}predicates.{name}", "config": config, "record": of}


TABLE: list[Json] = []

_PARTS = ("Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField", "MaskField", "ReplaceField",
          "SetSchemaMetadata", "TimestampConverter")  # fmt: skip
_TYPES = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
_FORMATS = ["yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyyMMdd", "hh:mm a", "EEE, d MMM yyyy"]


def generated(random: Random, count: int) -> list[Json]:
    chance = Chance(random)
    return [_transformed(chance) for _ in range(count)]


def _transformed(chance: Chance) -> Json:
    of = chance.often(chance.schema(), None, 0.6)
    name = chance.one([*_PARTS, *_PARTS, "ValueToKey", "InsertHeader", "DropHeaders", "TimestampRouter", "RegexRouter"])
    given = record(
        chance.value(of), of, sink=chance.random.random() < 0.5, partition=None if chance.random.random() < 0.1 else 3,
        headers=[["h", None, "x"], ["g", None, None]] if chance.random.random() < 0.4 else [],
        timestamp=chance.one([0, 1_566_570_894_346, 1_566_570_894_346, None]),
    )  # fmt: skip
    if given["sink"]:
        given["partition"] = 3
    config = _config(chance, name)
    if chance.random.random() < 0.3 and name in _NULLS:
        config["replace.null.with.default"] = "false"
    return transformed(f"{name}$Value" if name in _PARTS else name, config, given)


_NULLS = {"Cast", "ExtractField", "HeaderFrom", "InsertField", "MaskField", "ReplaceField", "SetSchemaMetadata",
          "TimestampConverter", "ValueToKey"}  # fmt: skip


def _config(chance: Chance, name: str) -> Json:
    one, field = chance.one, chance.one([*NAMES, "nope"])
    some = ",".join(chance.random.sample(NAMES[:6], chance.random.randrange(1, 3)))
    if name == "Cast":
        return {"spec": one([one(_TYPES), f"{field}:{one(_TYPES)}", f"a:{one(_TYPES)},b:{one(_TYPES)}"])}
    if name in ("ExtractField", "HoistField"):
        return {"field": field, **({"field.syntax.version": "V2"} if name == "ExtractField" and one([0, 0, 1]) else {})}
    if name == "Flatten":
        return one([{}, {"delimiter": "_"}])
    if name == "HeaderFrom":
        headers = ",".join(f"h{n}" for n in range(len(some.split(","))))
        return {"fields": some, "headers": headers, "operation": one(["move", "copy"])}
    if name == "InsertField":
        return {
            one(["topic.field", "timestamp.field", "offset.field", "partition.field"]): one(["n", "n?", "n!", field])
        }
    if name == "MaskField":
        return {"fields": some, **one([{}, {"replacement": one(["x", "7", "1_000", "1e39", "-0", "NaN"])}])}
    if name == "ReplaceField":
        return one([{"include": some}, {"exclude": some}, {"renames": f"a:{one(['b', 'z'])}"}])
    if name == "SetSchemaMetadata":
        return one([{"schema.name": "n"}, {"schema.version": "3"}, {"schema.name": "n", "schema.version": "7"}])
    if name == "TimestampConverter":
        kind = one(["string", "unix", "Date", "Time", "Timestamp"])
        made = {
            "target.type": kind,
            "field": one(["", field]),
            "format": one([*_FORMATS, *([""] if kind != "string" else [])]),
        }
        return made | one([{}, {"unix.precision": one(["seconds", "microseconds", "nanoseconds"])}])
    return _record_config(chance, name, some)


def _record_config(chance: Chance, name: str, some: str) -> Json:
    if name == "ValueToKey":
        return {"fields": some}
    if name == "InsertHeader":
        return {"header": "h", "value.literal": chance.text()}
    if name == "DropHeaders":
        return {"headers": chance.one(["h", "g,h"])}
    if name == "TimestampRouter":
        return {"timestamp.format": chance.one(_FORMATS), "topic.format": chance.one(["${topic}-${timestamp}", "x"])}
    return {
        "regex": chance.one([".*", "t(.*)", "(t)(o)p.*", "x"]),
        "replacement": chance.one(["$1", "y", "${a}", "\\$"]),
    }
