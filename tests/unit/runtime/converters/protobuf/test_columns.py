"""Batches of Protobuf messages as columns give what Google's protobuf gives, message by message."""

from __future__ import annotations

import random
from typing import Any

import pytest

from runtime.api.data.arrow_column import MIN_RECORDS, ArrowColumn
from runtime.api.errors import DataError
from runtime.converters.protobuf.options import protobuf_options
from runtime.converters.protobuf.protobuf import ProtobufConverter, ProtobufDecoder, ProtobufFormat
from tests.support.registry_converters import registered

COUNT = 40
KINDS = (
    *("int32", "sint32", "sfixed32", "uint32", "fixed32", "int64", "sint64", "sfixed64"),
    *("bool", "float", "double", "string", "bytes"),
)


def decoder(fields: str, syntax: str = "proto3") -> ProtobufDecoder:
    """Fields of proto2 always have a value."""
    parsed = ProtobufConverter.config_def.parse(
        {"converter.type": "value", "schema.registry.url": "http://unused", "optional.for.proto2": "false"}
    )
    text = f'syntax = "{syntax}";\npackage x;\nmessage Inner {{ int32 a = 1; }}\nmessage Row {{\n{fields}\n}}\n'
    return ProtobufFormat(protobuf_options(parsed)).decoder(registered(text), (1,))


def messages(reading: ProtobufDecoder, seed: int, names: list[str]) -> list[bytes]:
    """Messages in which some of these fields are set."""
    chance, message = random.Random(seed), reading._parse.__self__
    made = []
    for _ in range(COUNT):
        row = message()
        for name in names:
            if chance.random() < 0.7:
                _set(row, row.DESCRIPTOR.fields_by_name[name], chance)
        made.append(row.SerializeToString())
    return made


def _set(row: Any, field: Any, chance: random.Random) -> None:
    value = _value(field.type, chance)
    if field.is_repeated:
        getattr(row, field.name).extend([value] * chance.randrange(3))
    else:
        setattr(row, field.name, value)


def _value(kind: int, chance: random.Random) -> Any:
    match kind:
        case 8:
            return chance.random() < 0.5
        case 1 | 2:
            return chance.choice((0.0, -1.5, float("inf")))
        case 9:
            return chance.choice(("", "ü", "😀" * 50))
        case 12:
            return chance.randbytes(chance.randrange(4))
        case 4 | 6:
            return chance.choice((0, 2**64 - 1))
        case 13 | 7:
            return chance.choice((0, 1, 2**32 - 1))
        case 5 | 17 | 15:
            return chance.choice((0, -1, 2**31 - 1, -(2**31)))
    return chance.choice((0, -1, 2**63 - 1, -(2**63)))


@pytest.mark.parametrize("label", ["", "optional ", "repeated "])
def test_a_batch_has_the_values_of_single_messages(label: str) -> None:
    reading = decoder("\n".join(f"{label}{kind} f{n} = {n + 1};" for n, kind in enumerate(KINDS)))
    data = messages(reading, 1, [f"f{n}" for n in range(len(KINDS))])
    batch = reading.read_batch(data)
    assert all(type(column) is ArrowColumn for column in batch.columns.values())
    assert list(batch.rows) == [reading.read(message) for message in data]


@pytest.mark.parametrize(
    ("field", "syntax"),
    [
        ("uint64 f0 = 1;", "proto3"),
        ('int32 f0 = 1 [(confluent.field_meta) = {params: [{value: "int8", key: "connect.type"}]}];', "proto3"),
        ("optional int32 f0 = 1 [default = 5];", "proto2"),
    ],
)
def test_a_type_with_other_fields_is_read_by_googles_protobuf(field: str, syntax: str) -> None:
    reading = decoder(field, syntax)
    data = messages(reading, 2, ["f0"])
    batch = reading.read_batch(data)
    assert type(batch.columns["f0"]) is not ArrowColumn
    assert list(batch.rows) == [reading.read(message) for message in data]


@pytest.mark.parametrize(
    "field", ["Inner f0 = 1;", "oneof f0 { int32 a = 1; string b = 2; }", "map<string, int32> f0 = 1;"]
)
def test_a_type_with_messages_is_read_by_googles_protobuf(field: str) -> None:
    reading = decoder(field)
    batch = reading.read_batch([b""] * COUNT)
    assert not any(type(column) is ArrowColumn for column in batch.columns.values())
    assert list(batch.rows) == [reading.read(b"")] * COUNT


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x02\xff\xfe", b"\x0a\x05ab", b"\x80" * 11])
def test_a_malformed_message_is_refused(message: bytes) -> None:
    """The worker then reads the messages one by one: only this one is an error."""
    reading = decoder("string f0 = 1;")
    with pytest.raises(ValueError, match=r".+"):
        reading.read_batch([b""] * COUNT + [message])


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ("required int32 f0 = 1; optional int32 f1 = 2;", "f0"),
        ("optional Of f0 = 1; message Of { required string a = 1; }", "f0.a"),
    ],
)
def test_a_message_without_its_required_fields_is_refused(fields: str, missing: str) -> None:
    reading = decoder(fields, "proto2")
    empty = {"f0": b"", "f0.a": b"\x0a\x00"}[missing]
    with pytest.raises(DataError, match=f"Message missing required fields: {missing}$"):
        reading.read(empty)
    with pytest.raises(DataError, match=f"Message missing required fields: {missing}$"):
        reading.read_batch([empty] * MIN_RECORDS)
    whole = {"f0": b"\x08\x05", "f0.a": b"\x0a\x03\x0a\x01x"}[missing]
    assert reading.read(whole)["f0"] == {"f0": 5, "f0.a": {"a": "x"}}[missing]
