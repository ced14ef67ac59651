"""AvroConverter with unions: each branch is read and written as the field of Connect's struct."""

from __future__ import annotations

import datetime as dt
import io
import json
import random
import struct
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from runtime.api.data.logical import TIMESTAMP_SCHEMA
from runtime.api.data.schema import INT8_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro.avro import AvroConverter
from runtime.converters.registry.client import SchemaRegistryClient
from runtime.converters.registry.http import HttpClient
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId

UNION = "io.confluent.connect.avro.Union"
Avro = Any


class _Registry(SchemaRegistryClient):
    """Keeps registered schemas in memory, without a registry."""

    def __init__(self) -> None:
        super().__init__(HttpClient(["http://127.0.0.1:1"]), "AVRO")
        self.documents: list[Avro] = []

    def register(self, subject: str, text: str) -> SchemaId:
        return SchemaId(self.add(json.loads(text)))

    def add(self, document: Avro) -> int:
        self.documents.append(document)
        return len(self.documents)

    def latest(self, subject: str) -> RegisteredSchema:
        return self.schema(len(self.documents))

    def schema(self, wanted: int | str) -> RegisteredSchema:
        return RegisteredSchema(SchemaId(int(wanted)), json.dumps(self.documents[int(wanted) - 1]), {})

    def version(self, subject: str, schema: RegisteredSchema) -> int | None:
        return None


def made(**config: str) -> tuple[AvroConverter, _Registry]:
    converter, registry = AvroConverter(), _Registry()
    keys = {name.replace("_", "."): text for name, text in config.items()}
    converter.configure({"schema.registry.url": "http://127.0.0.1:1", **keys})
    converter._registry = registry
    return converter, registry


def framed(number: int, body: bytes) -> bytes:
    return b"\x00" + number.to_bytes(4, "big") + body


def record(name: str, /, **fields: Avro) -> dict[str, Any]:
    space, _, simple = name.rpartition(".")
    named = [{"name": key, "type": type_} for key, type_ in fields.items()]
    return {"type": "record", "name": simple, "namespace": space, "fields": named}


def union(*fields: tuple[str, Schema], **more: Any) -> Schema:
    optional = tuple(Field(name, schema.replace(optional=True)) for name, schema in fields)
    return Schema(Type.STRUCT, name=UNION, fields=optional, **more)


CREATED, DELETED = record("e.Created", id="int"), record("e.Deleted", id="int")
LETTERS = {"type": "enum", "name": "Letters", "symbols": ["A", "B"]}
TWO = {"type": "fixed", "name": "Two", "size": 2}
MOMENT = {"type": "long", "logicalType": "timestamp-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
AT = dt.datetime(2024, 1, 1, 12, 0, 0, 1000, dt.UTC)

BYTES: list[tuple[Avro, bytes, Any]] = [
    ([CREATED, DELETED], b"\x00\x0e", {"Created": {"id": 7}}),
    ([CREATED, DELETED], b"\x02\x0e", {"Deleted": {"id": 7}}),
    (["null", CREATED, DELETED], b"\x04\x0e", {"Deleted": {"id": 7}}),
    (["null", CREATED, DELETED], b"\x00", None),
    (["int", "long"], b"\x02\x0a", {"long": 5}),
    (["int", "null", "long"], b"\x04\x0a", {"long": 5}),
    (["float", "double"], b"\x02" + struct.pack("<d", 0.1), {"double": 0.1}),
    (["double", "float"], b"\x02" + struct.pack("<f", 0.5), {"float": 0.5}),
    (["int", "long", "float", "double", "boolean"], b"\x08\x01", {"boolean": True}),
    (["string", LETTERS], b"\x02\x00", {"Letters": "A"}),
    (["string", LETTERS], b"\x00\x02A", {"string": "A"}),
    (["bytes", TWO], b"\x02ab", {"Two": b"ab"}),
    (["bytes", TWO], b"\x00\x04ab", {"bytes": b"ab"}),
    ([record("x.A", n="int"), record("y.A", n="int")], b"\x02\x02", {"y.A": {"n": 1}}),
    (["string", MOMENT], b"\x02" + b"\x00", {"long": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}),
    ([TWO, PRICE], b"\x02\x02\x7b", {"bytes": Decimal("1.23")}),
    ([{"type": "map", "values": "int"}, record("M", n="int")], b"\x00\x02\x02n\x02\x00", {"map": {"n": 1}}),
    ([{"type": "map", "values": "int"}, record("M", n="int")], b"\x02\x02", {"M": {"n": 1}}),
    ([{"type": "array", "items": ["int", "long"]}, "null"], b"\x00\x02\x02\x0a\x00", [{"long": 5}]),
]


@pytest.mark.parametrize(("document", "body", "value"), BYTES, ids=lambda value: str(value)[:40])
def test_the_branch_in_the_bytes_is_read_and_written(document: Avro, body: bytes, value: Any) -> None:
    converter, registry = made()
    number = registry.add(record("R", u=document))
    schema, found = converter.to_connect("t", framed(number, body))
    assert found == {"u": value}
    assert schema is not None
    written = converter.from_connect("t", schema, found) or b""
    assert converter.to_connect("t", written) == (schema, found)
    if isinstance(document, list) and document[-1] != "null":  # which is the first branch in Connect's schemas
        assert written[5:] == body or document[1] == "null"


def test_a_union_may_be_the_whole_schema() -> None:
    converter, registry = made()
    schema, found = converter.to_connect("t", framed(registry.add(["null", CREATED, DELETED]), b"\x04\x0e"))
    assert found == {"Deleted": {"id": 7}}
    assert (converter.from_connect("t", schema, found) or b"")[5:] == b"\x04\x0e"


def test_unions_in_records_in_arrays_in_maps_in_unions() -> None:
    inner = record("e.Inner", u=["null", "long", "int"], at=["null", "string", MOMENT])
    deep = {"type": "map", "values": {"type": "array", "items": inner}}
    converter, registry = made()
    document = record("e.R", one=["null", deep, "string"], again=["null", "Inner"])
    value = {
        "one": {"map": {"k": [{"u": {"int": 1}, "at": {"long": AT}}, {"u": None, "at": {"string": "now"}}]}},
        "again": {"u": {"long": 1}, "at": None},
    }
    plain = fastavro.parse_schema(json.loads(json.dumps(document).replace("logicalType", "ignored")))
    out = io.BytesIO()
    millis = int(AT.timestamp() * 1000)
    others = [{"u": ("int", 1), "at": ("long", millis)}, {"u": None, "at": "now"}]
    one = ("map", {"k": others})
    fastavro.schemaless_writer(out, plain, {"one": one, "again": {"u": ("long", 1), "at": None}})
    schema, found = converter.to_connect("t", framed(registry.add(document), out.getvalue()))
    assert found == value
    assert schema is not None
    assert (converter.from_connect("t", schema, value) or b"")[5:] == out.getvalue()


def test_namespaces_apply_in_branches() -> None:
    """A name in a branch has the same meaning as outside."""
    document = record("e.R", u=["string", {"type": "record", "name": "P", "fields": [{"name": "n", "type": "int"}]}])
    document["fields"].append({"name": "p", "type": "P"})
    converter, registry = made()
    schema, found = converter.to_connect("t", framed(registry.add(document), b"\x02\x02\x04"))
    assert found == {"u": {"P": {"n": 1}}, "p": {"n": 2}}
    assert schema is not None
    assert [schema.fields[1].schema.name, schema.fields[0].schema.fields[1].schema.name] == ["e.P", "e.P"]


def test_nullable_values_are_not_wrapped_in_a_struct() -> None:
    converter, registry = made()
    document = record("R", u=["null", CREATED], v=[LETTERS, "null"])
    schema, found = converter.to_connect("t", framed(registry.add(document), b"\x02\x0e\x00\x02"))
    assert found == {"u": {"id": 7}, "v": "B"}
    assert (converter.from_connect("t", schema, found) or b"")[5:] == b"\x02\x0e\x02\x02B"


def test_defaults_of_unions() -> None:
    converter, registry = made()
    document = record("R", u=["long", "string"], v=["null", "int", "string"])
    document["fields"][0]["default"] = 5
    document["fields"][1]["default"] = None
    schema, _ = converter.to_connect("t", framed(registry.add(document), b"\x00\x02\x00"))
    assert schema is not None
    assert schema.fields[0].schema.default == {"long": 5}
    assert (converter.from_connect("t", schema, {}) or b"")[5:] == b"\x00\x0a\x00"
    text = union(("long", INT64_SCHEMA), ("string", STRING_SCHEMA), default={"string": "a"})
    whole = Schema(Type.STRUCT, name="Q", fields=(Field("u", text),))
    written = converter.from_connect("t", whole, {}) or b""
    assert registry.documents[-1]["fields"] == [{"name": "u", "type": ["string", "long"], "default": "a"}]
    assert converter.to_connect("t", written)[1] == {"u": {"string": "a"}}


def written_as(document: Avro, schema: Schema, value: Any) -> bytes:
    """The bytes of a value written with a schema other than Connect's own."""
    converter, registry = made(auto_register_schemas="false", use_latest_version="true")
    registry.add(record("R", u=document))
    whole = Schema(Type.STRUCT, name="R", fields=(Field("u", schema),))
    return (converter.from_connect("t", whole, {"u": value}) or b"")[5:]


def test_the_latest_schema_has_another_order_of_branches() -> None:
    event = union(
        ("Created", Schema(Type.STRUCT, name="e.Created", fields=(Field("id", INT32_SCHEMA),))),
        ("Deleted", Schema(Type.STRUCT, name="e.Deleted", fields=(Field("id", INT32_SCHEMA),))),
        ("int", INT32_SCHEMA),
    )
    document = ["null", "string", DELETED, "long", "int", CREATED]
    assert written_as(document, event, {"Created": {"id": 7}}) == b"\x0a\x0e"
    assert written_as(document, event, {"Deleted": {"id": 7}}) == b"\x04\x0e"
    assert written_as(document, event, {"int": 7}) == b"\x08\x0e"
    assert written_as(["null", "string", "long"], event, {"int": 7}) == b"\x04\x0e"
    for other in (["null", CREATED, "int"], [record("f.Deleted", id="int"), "int"], CREATED):
        with pytest.raises(DataError, match="no branch, or several, for the union's Deleted"):
            written_as(other, event, {"Deleted": {"id": 7}})


def test_plain_values_in_unions_of_the_latest_schema() -> None:
    assert written_as(["null", "int", "long"], INT64_SCHEMA, 5) == b"\x04\x0a"
    assert written_as(["null", "string", LETTERS], STRING_SCHEMA, "A") == b"\x02\x02A"
    assert written_as(["null", LETTERS, "int"], STRING_SCHEMA, "A") == b"\x02\x00"
    assert written_as(["null", CREATED, "int"], INT64_SCHEMA.replace(optional=True), None) == b"\x00"
    deleted = Schema(Type.STRUCT, name="e.Deleted", fields=(Field("id", INT32_SCHEMA),))
    assert written_as([CREATED, DELETED], deleted, {"id": 7}) == b"\x02\x0e"
    for schema, value in ((INT64_SCHEMA, 5), (deleted.replace(name=None), {"id": 7})):
        with pytest.raises(DataError, match="no branch, or several"):
            written_as([CREATED, DELETED, "int"], schema, value)


def test_a_default_of_the_latest_schema() -> None:
    converter, registry = made(auto_register_schemas="false", use_latest_version="true")
    document = record("R", a="int", u=["int", "string"])
    document["fields"][1]["default"] = 5
    registry.add(document)
    schema = Schema(Type.STRUCT, name="R", fields=(Field("a", INT32_SCHEMA),))
    assert (converter.from_connect("t", schema, {"a": 1}) or b"")[5:] == b"\x02\x00\x0a"


def test_structs_without_names() -> None:
    one = Schema(Type.STRUCT, fields=(Field("id", INT32_SCHEMA),))
    converter, _ = made()
    schema = union(("first", one), ("second", one))
    assert (converter.from_connect("t", schema, {"second": {"id": 7}}) or b"")[5:] == b"\x02\x0e"
    assert (converter.from_connect("t", schema, {"first": {"id": 7}, "second": None}) or b"")[5:] == b"\x00\x0e"


def test_ambiguous_unions_are_refused() -> None:
    converter, registry = made()
    twice = union(("a", INT8_SCHEMA), ("b", INT32_SCHEMA))
    with pytest.raises(DataError, match="have the Avro type int, so they cannot be distinguished"):
        converter.from_connect("t", twice, {"a": 1})
    for document in (["long", MOMENT], ["bytes", PRICE], [{"type": "array", "items": "int"}, record("array", n="int")]):
        with pytest.raises(DataError, match="A union has two branches of type"):
            converter.to_connect("t", framed(registry.add(record("R", u=document)), b"\x02\x00"))
    assert len(registry.documents) == 3


def test_an_enum_is_not_a_string_without_connect_meta_data() -> None:
    converter, registry = made(connect_meta_data="false")
    schema, value = converter.to_connect("t", framed(registry.add(["string", LETTERS]), b"\x02\x00"))
    assert value == {"Letters": "A"}
    assert converter.to_connect("t", converter.from_connect("t", schema, value))[1] == value


@pytest.mark.parametrize(
    ("value", "has"),
    [({"int": 1, "string": "a"}, "int, string"), ({"long": 1}, "long"), ({}, "none"), ({"int": None}, "none")],
)
def test_a_union_has_one_value(value: Any, has: str) -> None:
    converter, _ = made()
    schema = union(("int", INT32_SCHEMA), ("string", STRING_SCHEMA))
    with pytest.raises(DataError, match=rf"one of its branches int, string; this one has values in: {has}$"):
        converter.from_connect("t", schema, value)
    with pytest.raises(DataError, match="a union, which is a struct in Connect"):
        converter.from_connect("t", schema, 1)


def test_logical_types_in_branches() -> None:
    converter, registry = made()
    schema, found = converter.to_connect("t", framed(registry.add(["null", "string", MOMENT]), b"\x04\x00"))
    assert schema == union(("string", STRING_SCHEMA), ("long", TIMESTAMP_SCHEMA), optional=True)
    assert found == {"long": dt.datetime(1970, 1, 1, tzinfo=dt.UTC)}


_SIMPLE: dict[str, tuple[Any, ...]] = {
    "int": (0, 5, -(2**31)), "long": (0, 5, 2**63 - 1), "float": (0.0, 0.5), "double": (0.0, 0.5, 0.1),
    "boolean": (True, False), "string": ("A", "xy"), "bytes": (b"", b"ab"), "enum": ("A", "B"), "fixed": (b"ab", b"xy"),
}  # fmt: skip


class _Random:
    """Avro types with values; values of unions in fastavro's notation, `(name, value)`."""

    def __init__(self, seed: int) -> None:
        self._random, self._defined = random.Random(seed), 0

    def union(self, depth: int) -> tuple[list[Avro], Any]:
        least = self._random.randint(1, 4)  # one branch and null: not a struct
        found: dict[str, tuple[Avro, Any]] = {}
        while len(found) < least:
            made = self._type(depth, ())
            name = made[0] if isinstance(made[0], str) else made[0]["type"]
            found[f"{made[0]['namespace']}.{made[0]['name']}" if "name" in made[0] else name] = made
        name, (_, value) = self._random.choice(list(found.items()))
        null = least == 1 or self._random.random() < 0.5
        branches = [*(["null"] if null else []), *(branch for branch, _ in found.values())]
        return branches, None if null and self._random.random() < 0.2 else (name, value)

    def _type(self, depth: int, more: tuple[str, ...] = ("union", "union", "union")) -> tuple[Avro, Any]:
        deep = ("record", "record", "array", "map", *more) if depth > 0 else ()
        kind = self._random.choice([*_SIMPLE, *deep])
        if kind == "union":
            return self.union(depth - 1)
        if kind in ("array", "map"):
            inner, value = self._type(depth - 1)
            some = self._random.random() < 0.8
            if kind == "array":
                return {"type": "array", "items": inner}, [value] if some else []
            return {"type": "map", "values": inner}, {"k": value} if some else {}
        if kind not in ("record", "enum", "fixed"):
            return kind, self._random.choice(_SIMPLE[kind])
        self._defined += 1
        head = {"type": kind, "name": f"T{self._defined // 2}", "namespace": f"n{self._defined}"}
        if kind == "record":
            inner, value = self._type(depth - 1)
            return {**head, "fields": [{"name": "f", "type": inner}]}, {"f": value}
        return {**head, "symbols": ["A", "B"], "size": 2}, self._random.choice(_SIMPLE[kind])


def test_unions_round_trip() -> None:
    """For any union, reading and writing again returns the same bytes and the same value."""
    converter, registry = made(enhanced_avro_schema_support="true")  # otherwise enums outside unions are text
    for seed in range(400):
        document, value = _Random(seed).union(4)
        whole, out = record("R", u=document), io.BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(whole), {"u": value})
        schema, found = converter.to_connect("t", framed(registry.add(whole), out.getvalue()))
        written = converter.from_connect("t", schema, found) or b""
        assert written[5:] == out.getvalue(), whole
        assert converter.to_connect("t", written) == (schema, found)
