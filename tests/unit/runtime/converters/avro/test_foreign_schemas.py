"""Schemas and values of other writers, read and written as by Confluent's AvroData 8.5 with Avro 1.12."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.columns import ValueBatch
from runtime.api.data.logical import decimal_schema
from runtime.api.data.schema import BOOLEAN_SCHEMA, FLOAT64_SCHEMA, INT32_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro.avro import AvroDecoder, AvroEncoder
from runtime.converters.registry.schemas import RegisteredSchema
from tests.support.registry_converters import avro_format, registered

DECIMAL = {"type": "bytes", "logicalType": "decimal"}


def _with_field(field: Any, **more: Any) -> RegisteredSchema:
    """A record with one field."""
    document = {"type": "record", "name": "R", "fields": [{"name": "f", "type": field, **more}]}
    return registered(document)


def _decoder(field: Any, /, meta: str = "true", **more: Any) -> AvroDecoder:
    return avro_format(connect_meta_data=meta).decoder(_with_field(field, **more), ())


def _field(decoder: AvroDecoder) -> Schema:
    schema = decoder.schema.field("f")
    assert schema is not None
    return schema


def _encoder(schema: Schema, target: RegisteredSchema | None = None) -> AvroEncoder:
    form, record = avro_format(), Schema(Type.STRUCT, name="R", fields=(Field("f", schema),))
    return form.encoder(record, form.native(record), target)


@pytest.mark.parametrize("kind", [{"type": "float"}, {"type": "double"}, ["double", "null"]])
def test_whole_numbers_are_defaults_of_floats(kind: Any) -> None:
    decoder = _decoder(kind, default=0)
    data = {"f": bytes(3) + b"@", "d": bytes(7) + b"@", "[": bytes(8) + b"@"}
    assert decoder.read(data[kind["type"][0] if isinstance(kind, dict) else "["]) == {"f": 2.0}
    target = _with_field(INT32_SCHEMA.type.value.replace("int32", "int"))
    fields = [*json.loads(target.text)["fields"], {"name": "g", "type": kind, "default": 2}]
    wider = {"type": "record", "name": "R", "fields": fields}
    encoder = _encoder(INT32_SCHEMA, registered(wider))
    assert encoder.write({"f": 1}).startswith(b"\x02")


@pytest.mark.parametrize("default", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("optional", [False, True])
def test_defaults_that_are_not_finite(default: float, optional: bool) -> None:
    """Null, as JSON has no such numbers, would not be a valid default."""
    schema = FLOAT64_SCHEMA.replace(default=default, optional=optional)
    record = Schema(Type.STRUCT, name="R", fields=(Field("f", schema),))
    form, native = avro_format(), avro_format().native(Schema(Type.STRUCT, name="R", fields=(Field("f", schema),)))
    assert json.loads(native.text)["fields"][0]["default"] in ("NaN", "Infinity", "-Infinity")
    decoder = form.decoder(registered(native.text), ())
    assert str(_field(decoder).default) == str(default)
    assert str(decoder.read(form.encoder(record, native, None).write({}))["f"]) == str(default)


@pytest.mark.parametrize(
    ("kind", "default"), [("int", "x"), ({"type": "enum", "name": "E", "symbols": ["A"]}, 7), ("bytes", 5)]
)
def test_invalid_defaults_are_ignored(kind: Any, default: Any) -> None:
    assert _decoder(kind, default=default).read(b"\0") is not None


@pytest.mark.parametrize("kind", [["int", "null"], ["null", "int"], ["int"]])
def test_defaults_of_nullable_fields_are_ignored(kind: Any) -> None:
    """Otherwise a null would become the default in a transformation or in JSON."""
    assert _field(_decoder(kind, default=5)) == INT32_SCHEMA.replace(optional="null" in kind)
    typed = _decoder(["null", {"type": "int", "connect.default": 7}])
    assert _field(typed) == INT32_SCHEMA.replace(optional=True, default=7)


@pytest.mark.parametrize(
    ("default", "expected"), [([], {}), ([[1, "a"]], {1: "a"}), ([{"key": 1, "value": "a"}], {1: "a"})]
)
def test_defaults_of_maps_with_numbers_as_keys(default: Any, expected: Any) -> None:
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]
    entry = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro", "fields": fields}
    decoder = _decoder({"type": "array", "items": entry}, default=default)
    assert _field(decoder).default == expected
    assert decoder.read(b"\x02\x02\x02a\0") == {"f": {1: "a"}}


def test_maps_with_numbers_as_keys_are_written_as_in_java() -> None:
    values = STRING_SCHEMA.replace(optional=True)
    schema = Schema(Type.MAP, keys=INT32_SCHEMA, values=values, default={1: "a"})
    native = avro_format().native(Schema(Type.STRUCT, name="R", fields=(Field("f", schema),)))
    (field,) = native.parsed["fields"]
    assert "default" not in field
    assert field["type"]["connect.default"] == [[1, "a"]]
    assert field["type"]["items"]["fields"] == [
        {"name": "key", "type": "int"}, {"name": "value", "type": ["null", "string"], "default": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ({**DECIMAL, "precision": 2, "scale": 1}, b"\x04\x30\x39", Decimal("1234.5")),
        ({**DECIMAL, "precision": 4, "scale": 9}, b"\x02\x01", Decimal("1E-9")),
        ({**DECIMAL, "precision": 4, "scale": -2}, b"\x02\x01", Decimal("1E+2")),
        (
            {"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 9, "scale": 1},
            b"\x30\x39",
            Decimal("1234.5"),
        ),
    ],
)
def test_decimals_keep_digits_beyond_their_precision(kind: Any, data: bytes, expected: Decimal) -> None:
    decoder = _decoder(kind)
    assert decoder.read(data)["f"].as_tuple() == expected.as_tuple()
    scale = kind["scale"]
    for target in (None, _with_field(kind)):
        if target is not None or kind["type"] == "bytes":
            assert _encoder(decimal_schema(scale), target).write({"f": expected}) == data


def test_decimals_for_another_schema() -> None:
    target = _with_field({**DECIMAL, "precision": 9, "scale": 3})
    assert _encoder(decimal_schema(1), target).write({"f": Decimal("-1.5")}) == b"\x04" + (-1500).to_bytes(
        2, "big", signed=True
    )
    with pytest.raises(DataError, match="decimals of scale 3, the value has scale 4"):
        _encoder(decimal_schema(4), target).write({"f": Decimal("1.0000")})
    with pytest.raises(DataError, match="no decimal"):
        _encoder(decimal_schema(1), _with_field("bytes")).write({"f": Decimal("1.5")})
    small = {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 2, "scale": 1}
    with pytest.raises(DataError, match="does not fit into 1 bytes"):
        _encoder(decimal_schema(1), _with_field(small)).write({"f": Decimal("99.9")})


def test_a_type_that_is_named_in_an_object() -> None:
    """Values of the named type are converted as those of its definition."""
    named = {"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 2, "scale": 1}
    fields = [{"name": "a", "type": named}, {"name": "b", "type": {"type": "F"}}]
    decoder = avro_format().decoder(registered({"type": "record", "name": "R", "fields": fields}), ())
    assert decoder.read(b"\x0f\x0e") == {"a": Decimal("1.5"), "b": Decimal("1.4")}


def test_metadata_without_connect_meta_data() -> None:
    kind = {"type": "int", "connect.name": "n", "connect.version": 3, "connect.default": 5, "connect.doc": "d"}
    assert _field(_decoder(kind, meta="false")) == INT32_SCHEMA.replace(name="n", version=3, default=5)
    record = Schema(Type.STRUCT, name="R", fields=(Field("f", Schema(Type.INT8)),))
    assert avro_format(connect_meta_data="false").native(record).parsed["fields"] == [{"name": "f", "type": "int"}]


def test_batches_of_an_optional_struct() -> None:
    form, flag = avro_format(), Field("f", BOOLEAN_SCHEMA)
    schema = Schema(Type.STRUCT, optional=True, name="R", fields=(flag, Field("d", FLOAT64_SCHEMA)))
    values = ValueBatch(schema, [{"f": True, "d": 0.0}, None] * 20)
    assert (
        list(form.encoder(schema, form.native(schema), None).write_batch(values))
        == [b"\x02\x01" + bytes(8), b"\0"] * 20
    )


def test_texts_that_are_not_utf8() -> None:
    """As if Java had read and written them. Other records of the batch are not affected."""
    encoder = _encoder(STRING_SCHEMA)
    assert encoder.write({"f": "gr\udcfcn\ud800"}) == b"\x0egr\xef\xbf\xbdn?"
    schema = Schema(Type.STRUCT, name="R", fields=(Field("f", STRING_SCHEMA),))
    rows = [{"f": "a"}] * 20 + [{"f": "\udcfc"}]
    assert list(encoder.write_batch(ValueBatch(schema, rows))) == [b"\x02a"] * 20 + [b"\x06\xef\xbf\xbd"]
    assert _decoder("string").read(b"\x06a\xfcb") == {"f": "a\ufffdb"}


def test_branches_have_full_names_with_enhanced_support() -> None:
    inner = {"type": "record", "name": "Event", "namespace": "com.x", "fields": [{"name": "n", "type": "int"}]}
    latest = _with_field(["null", "int", inner])
    for enhanced, name in (("false", "Event"), ("true", "com.x.Event")):
        form = avro_format(enhanced_avro_schema_support=enhanced)
        decoder = form.decoder(latest, ())
        assert decoder.read(b"\x04\x0a") == {"f": {name: {"n": 5}}}
        assert [field.name for field in _field(decoder).fields] == ["int", name]
        for target in (None, latest):
            encoder = form.encoder(decoder.schema, form.native(decoder.schema), target)
            assert encoder.write({"f": {name: {"n": 5}}}) == b"\x04\x0a"


@pytest.mark.parametrize("name", [None, "com.x.Sizes"])
def test_two_maps_of_the_same_types(name: str | None) -> None:
    """The second one refers to the definition of its entries in the first one."""
    entries = Schema(Type.MAP, keys=INT32_SCHEMA, values=STRING_SCHEMA, name=name)
    fields = Field("a", entries), Field("b", entries.replace(optional=True))
    form, schema = avro_format(), Schema(Type.STRUCT, name="R", fields=fields)
    native = form.native(schema)
    assert native.parsed["fields"][1]["type"][1]["items"] == (name or "io.confluent.connect.avro.MapEntry")
    value = {"a": {1: "x"}, "b": {2: "y"}}
    decoder = form.decoder(registered(native.text), ())
    assert decoder.schema == schema
    assert decoder.read(form.encoder(schema, native, None).write(value)) == value


def test_a_record_of_another_namespace_is_not_an_entry() -> None:
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]
    entry = {"type": "record", "name": "MapEntry", "namespace": "com.x", "fields": fields}
    assert _field(_decoder({"type": "array", "items": entry})).type is Type.ARRAY


def test_docs_and_field_defaults_are_kept_as_parameters() -> None:
    """Confluent's converter registers the same schema again. A doc of Connect's own is `connect.doc`."""
    own = "io.confluent.connect.avro"
    enum = {"type": "enum", "name": "E", "symbols": ["A"], "doc": "of the enum", "default": "A"}
    fields = [
        {"name": "f", "type": {"type": "string", "avro.java.string": "String"}, "doc": "of the field", "default": "x"},
        {"name": "e", "type": enum},
    ]
    document = {"type": "record", "name": "R", "doc": "of the record", "fields": fields}
    form = avro_format(enhanced_avro_schema_support="true")
    schema = form.decoder(registered(document), ()).schema
    assert schema.parameters == ((f"{own}.record.doc", "of the record"), (f"{own}.field.doc.f", "of the field"))
    text, chosen = schema.field("f"), schema.field("e")
    assert text is not None and chosen is not None
    assert dict(text.parameters) == {f"{own}.field.default": "true", "avro.java.string": "String"}
    assert chosen.parameters[:2] == ((f"{own}.enum.doc.E", "of the enum"), (f"{own}.enum.default.E", "A"))
    written = form.native(schema).parsed
    assert (written["doc"], [field.get("doc") for field in written["fields"]]) == (
        "of the record",
        ["of the field", None],
    )
    first, second = (field["type"] for field in written["fields"])
    assert (first["avro.java.string"], written["fields"][0]["default"], "connect.default" in first) == (
        "String",
        "x",
        False,
    )
    assert (second["doc"], second["default"]) == ("of the enum", "A")
    documented = Schema(Type.STRUCT, name="R", doc="r", fields=(Field("f", STRING_SCHEMA.replace(doc="d")),))
    plain = form.native(documented).parsed
    assert (plain["connect.doc"], plain["fields"]) == (
        "r",
        [{"name": "f", "type": {"type": "string", "connect.doc": "d"}}],
    )


def test_equal_structs_without_a_name_are_defined_once() -> None:
    inner = Schema(Type.STRUCT, fields=(Field("n", INT32_SCHEMA),))
    other = Schema(Type.STRUCT, fields=(Field("m", INT32_SCHEMA),))
    fields = Field("a", inner), Field("b", inner.replace(optional=True)), Field("c", other)
    native = avro_format().native(Schema(Type.STRUCT, fields=fields))
    first, second, third = (field["type"] for field in native.parsed["fields"])
    assert (first["name"], third["name"]) == ("ConnectDefault2", "ConnectDefault3")
    assert second == ["null", "io.confluent.connect.avro.ConnectDefault2"]
