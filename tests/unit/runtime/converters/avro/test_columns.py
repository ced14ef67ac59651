"""Batches of Avro records as columns give what fastavro gives, message by message."""

from __future__ import annotations

import datetime as dt
import io
import random
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from runtime.api.data.arrow_column import ArrowColumn
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Field, Schema, Type
from runtime.converters.avro.avro import AvroDecoder
from tests.support.registry_converters import avro_format, registered

FORMAT = avro_format()
COUNT = 40


def decoder(document: Any) -> AvroDecoder:
    return FORMAT.decoder(registered(document), ())


def messages(document: Any, rows: list[Any]) -> list[bytes]:
    parsed, written = fastavro.parse_schema(document), []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        written.append(out.getvalue())
    return written


def record(name: str, *types: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{n}", "type": t} for n, t in enumerate(types)]}


class Drawn:
    """A random schema, and random values for it."""

    def __init__(self, seed: int) -> None:
        self.random, self.names, self.defined = random.Random(seed), 0, list[Any]()

    def type(self, depth: int) -> Any:
        kinds = ["int", "long", "string", "boolean", "float", "double", "date", "timestamp", "enum", "again"]
        kinds += ["array", "map", "record", "optional", "optional"] if depth else []
        match self.random.choice(kinds):
            case "date":
                return {"type": "int", "logicalType": "date"}
            case "timestamp":
                return {"type": "long", "logicalType": "timestamp-millis"}
            case "enum":
                return self._define({"type": "enum", "name": self._name(), "symbols": ["A", "B"]})
            case "again" if self.defined:
                return self.random.choice(self.defined)["name"]
            case "again":
                return "string"
            case "array":
                return {"type": "array", "items": self.type(depth - 1)}
            case "map":
                return {"type": "map", "values": self.type(depth - 1)}
            case "record":
                return self._define(record(self._name(), *(self.type(depth - 1) for _ in range(2))))
            case "optional":
                inner = self.type(0)
                return ["null", inner] if self.random.random() < 0.7 else [inner, "null"]
            case kind:
                return kind

    def _name(self) -> str:
        self.names += 1
        return f"com.x.N{self.names}"

    def _define(self, document: dict[str, Any]) -> dict[str, Any]:
        self.defined.append(document)
        return document

    def value(self, kind: Any) -> Any:
        chance = self.random
        if isinstance(kind, list):
            return None if chance.random() < 0.4 else self.value(next(k for k in kind if k != "null"))
        if isinstance(kind, dict):
            match kind["type"], kind.get("logicalType"):
                case _, "date":
                    return dt.date(1970, 1, 1) + dt.timedelta(days=chance.randrange(-9000, 20_000))
                case _, "timestamp-millis":
                    return dt.datetime.fromtimestamp(chance.randrange(-(10**12), 10**13) / 1000, dt.UTC)
                case "enum", _:
                    return chance.choice("AB")
                case "array", _:
                    return [self.value(kind["items"]) for _ in range(chance.randrange(3))]
                case "map", _:
                    return {f"k{n}": self.value(kind["values"]) for n in range(chance.randrange(3))}
                case "record", _:
                    return {field["name"]: self.value(field["type"]) for field in kind["fields"]}
        match kind:
            case "int":
                return chance.choice((0, -1, 2**31 - 1, -(2**31), chance.randrange(1000)))
            case "long":
                return chance.choice((0, -1, 2**63 - 1, -(2**63), chance.randrange(1000)))
            case "string":
                return chance.choice(("", "ü", "😀", "a\nb", "x" * 300))
            case "boolean":
                return chance.random() < 0.5
            case "float":
                return chance.choice((0.0, 1.5, float("inf"), -2.25))
            case "double":
                return chance.choice((0.0, 1e300, chance.random()))
        return self.value(next(d for d in self.defined if d["name"] == kind))


@pytest.mark.parametrize("seed", range(60))
def test_a_batch_has_the_values_of_single_messages(seed: int) -> None:
    drawn = Drawn(seed)
    document = record("com.x.Row", *(drawn.type(2) for _ in range(6)))
    rows = [drawn.value(document) for _ in range(COUNT)]
    reading, data = decoder(document), messages(document, rows)
    batch = reading.read_batch(data)
    assert all(type(column) is ArrowColumn for column in batch.columns.values())
    assert list(batch.rows) == [reading.read(message) for message in data]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bytes", b"ab"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
        ({"type": "int", "logicalType": "time-millis"}, dt.time(1)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("1.25")),
        (["null", "int", "string"], 5),
        ({"type": "array", "items": record("com.x.Inner", "bytes")}, [{"f0": b"x"}]),
    ],
)
def test_a_schema_with_another_type_is_read_by_fastavro(kind: Any, value: Any) -> None:
    document = record("com.x.Row", "int", kind)
    reading, data = decoder(document), messages(document, [{"f0": 1, "f1": value}] * COUNT)
    batch = reading.read_batch(data)
    assert type(batch.columns["f0"]) is not ArrowColumn
    assert list(batch.rows) == [reading.read(message) for message in data]


@pytest.mark.parametrize("message", [b"", b"\x02", b"\x02\x10ab", b"\x80" * 11])
def test_a_malformed_message_is_refused(message: bytes) -> None:
    """The worker then reads the messages one by one: only this one is an error."""
    document = record("com.x.Row", "int", "string")
    data = messages(document, [{"f0": 1, "f1": "a"}] * COUNT)
    reading = decoder(document)
    with pytest.raises(ValueError, match=r".+"):
        reading.read_batch([*data, message])
    with pytest.raises(Exception, match=r".*"):
        reading.read(message)


_FIELDS = (("text", Type.STRING), ("number", Type.INT32), ("large", Type.INT64), ("real", Type.FLOAT64))
_PLAIN = Schema(
    Type.STRUCT, name="com.x.Plain", fields=tuple(Field(name, Schema(kind, True)) for name, kind in _FIELDS)
)


def test_what_was_read_as_columns_is_written_as_columns() -> None:
    native = FORMAT.native(_PLAIN)
    encoder = FORMAT.encoder(_PLAIN, native, None)
    rows = [
        {"text": None if n % 3 else "ü", "number": n, "large": -n if n % 2 else None, "real": n / 4}
        for n in range(COUNT)
    ]
    written = encoder.write_batch(ValueBatch(_PLAIN, rows))
    assert written == [encoder.write(row) for row in rows]
    read = FORMAT.decoder(registered(native.text), ()).read_batch(written)
    assert read is not None
    assert encoder.write_batch(read.with_schema(_PLAIN)) == written
    assert list(read.rows) == rows


@pytest.mark.parametrize(
    "wrong", [{"number": 1.5}, {"number": 2**31}, {"number": True}, {"text": b"x"}, {"large": "1"}, {"text": "\ud800"}]
)
def test_values_of_other_types_are_left_to_single_conversion(wrong: dict[str, Any]) -> None:
    encoder = FORMAT.encoder(_PLAIN, FORMAT.native(_PLAIN), None)
    right = {"text": "a", "number": 1, "large": 1, "real": 1.0}
    rows = [right] * COUNT + [{**right, **wrong}]

    def outcome(write: Any) -> Any:
        try:
            return write()
        except Exception as e:
            return type(e)

    assert outcome(lambda: encoder.write_batch(ValueBatch(_PLAIN, rows))) == outcome(
        lambda: list(map(encoder.write, rows))
    )
