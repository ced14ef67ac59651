"""Records, enums and fixed types by name. The schemas are those that Confluent's AvroData 8.5 makes with Avro 1.12."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from runtime.api.data.logical import DECIMAL, decimal_schema
from runtime.api.data.schema import INT32_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro.avro import AvroDecoder
from tests.support.registry_converters import avro_format, registered

ENUM = "io.confluent.connect.avro.Enum"
LETTERS = {"type": "enum", "name": "E", "namespace": "", "symbols": ["A", "B"]}
MONEY = {
    "type": "fixed", "name": "Money", "namespace": "com.x", "size": 4,
    "logicalType": "decimal", "precision": 9, "scale": 2,
}  # fmt: skip


def _decoder(*types: Any, namespace: str = "com.x", **config: str) -> AvroDecoder:
    """Of a record with fields a, b, c."""
    fields = [kind if isinstance(kind, dict) and "default" in kind else {"type": kind} for kind in types]
    named = [{"name": name, **field} for name, field in zip("abc", fields, strict=False)]
    document = {"type": "record", "name": "R", "namespace": namespace, "fields": named}
    return avro_format(**config).decoder(registered(document), ())


def _of(decoder: AvroDecoder, name: str) -> Schema:
    schema = decoder.schema.field(name)
    assert schema is not None
    return schema


def _enum(name: str, *symbols: str) -> Schema:
    parameters = ((ENUM, name), *((f"{ENUM}.{symbol}", symbol) for symbol in symbols))
    return Schema(Type.STRING, name=name, parameters=parameters)


def _fixed_decimal(scale: int = 2, precision: int | None = 9) -> Schema:
    more = () if precision is None else (("connect.decimal.precision", str(precision)),)
    made = decimal_schema(scale)
    return made.replace(parameters=(*made.parameters, *more, ("connect.fixed.size", "4")))


def _round_trip(schema: Schema, value: Any, **config: str) -> dict[str, Any]:
    """The fields of the written Avro schema, by name, after a value has been written and read."""
    form = avro_format(**config)
    native = form.native(schema)
    decoder = form.decoder(registered(native.text), ())
    assert decoder.schema == schema
    assert decoder.read(form.encoder(schema, native, None).write(value)) == value
    return {field["name"]: field for field in native.parsed["fields"]}


def _record(*schemas: Schema, name: str = "com.x.R") -> Schema:
    return Schema(Type.STRUCT, name=name, fields=tuple(map(Field, "abc", schemas)))


def test_a_name_means_a_type_of_the_namespace_or_one_without_namespace() -> None:
    decoder = _decoder(LETTERS, "E")
    assert decoder.read(b"\0\2") == {"a": "A", "b": "B"}
    assert _of(decoder, "a") == _of(decoder, "b") == _enum("E", "A", "B")
    both = _decoder(LETTERS, {"type": "enum", "name": "E", "symbols": ["X", "Y"]}, "E")
    assert both.read(b"\0\2\2") == {"a": "A", "b": "Y", "c": "Y"}
    assert [_of(both, name).name for name in "abc"] == ["E", "com.x.E", "com.x.E"]


def test_names_within_a_record_without_a_namespace() -> None:
    inner = {"type": "record", "name": "T", "fields": [{"name": "n", "type": "int"}]}
    outer = {"type": "record", "name": "S", "namespace": "", "fields": [{"name": "t", "type": inner}]}
    decoder = _decoder(outer, "S", "T")
    assert decoder.read(b"\2\4\6") == {"a": {"t": {"n": 1}}, "b": {"t": {"n": 2}}, "c": {"n": 3}}
    assert [_of(decoder, name).name for name in "abc"] == ["S", "S", "T"]
    inherited = _decoder({**LETTERS, "namespace": None}, "com.x.E")
    assert _of(inherited, "b").name == "com.x.E"


@pytest.mark.parametrize("enhanced", ["true", "false"])
def test_a_branch_without_a_namespace(enhanced: str) -> None:
    decoder = _decoder(LETTERS, ["null", "int", "E"], enhanced_avro_schema_support=enhanced)
    assert decoder.read(b"\0\4\2") == {"a": "A", "b": {"E": "B"}}
    form = avro_format(enhanced_avro_schema_support=enhanced)
    for target in (None, registered(form.native(decoder.schema).text)):
        encoder = form.encoder(decoder.schema, form.native(decoder.schema), target)
        data = b"\0" if enhanced == "true" else b"\2A"
        assert encoder.write({"a": "A", "b": {"E": "B"}}) == data + b"\4\2"


def test_a_type_without_a_namespace_is_written_within_one() -> None:
    struct = Schema(Type.STRUCT, name="S", fields=(Field("n", INT32_SCHEMA),))
    other = Schema(Type.STRUCT, name="com.y.U", fields=(Field("s", struct),))
    fields = _round_trip(
        _record(struct, struct.replace(optional=True), other), {"a": {"n": 1}, "b": {"n": 2}, "c": {"s": {"n": 3}}}
    )
    assert fields["a"]["type"]["namespace"] == ""
    assert (fields["b"]["type"], fields["c"]["type"]["fields"][0]["type"]) == (["null", "S"], "S")
    sizes = Schema(Type.MAP, keys=INT32_SCHEMA, values=STRING_SCHEMA, name="M")
    assert _round_trip(_record(sizes), {"a": {1: "x"}})["a"]["type"]["items"]["namespace"] == ""
    assert "namespace" not in avro_format().native(_record(struct, name="R")).parsed["fields"][0]["type"]


def test_a_field_has_parameters_of_its_own() -> None:
    enum, fixed = _enum("E", "A"), Schema(Type.BYTES, name="F", parameters=(("connect.fixed.size", "2"),))
    fields = _round_trip(
        _record(enum, enum, fixed), {"a": "A", "b": "A", "c": b"ab"}, enhanced_avro_schema_support="true"
    )
    assert fields["a"]["type"] == {
        "type": "enum", "name": "E", "namespace": "", "symbols": ["A"],
        "connect.name": "E", "connect.parameters": dict(enum.parameters),
    }  # fmt: skip
    assert "connect.parameters" not in fields["a"]
    assert fields["b"] == {"name": "b", "type": "E", "connect.parameters": dict(enum.parameters)}
    assert fields["c"]["type"]["connect.parameters"] == {"connect.fixed.size": "2"}
    own = [MONEY, {"type": "com.x.Money", "connect.parameters": {"scale": "1", "p": "q"}, "default": "\0\0\0\1"}]
    decoder = _decoder(*own)
    assert decoder.read(b"\0\0\0\5\0\0\0\5") == {"a": Decimal("0.05"), "b": Decimal("0.5")}
    assert (_of(decoder, "b").parameter("scale"), _of(decoder, "b").parameter("p")) == ("1", "q")


def test_enums_keep_their_symbols_without_connect_meta_data() -> None:
    assert _of(_decoder({**LETTERS, "doc": "d"}, connect_meta_data="false"), "a") == _enum("E", "A", "B")


def test_fixed_decimals_are_read_and_written_with_their_size() -> None:
    decoder = _decoder(MONEY, ["null", "com.x.Money"])
    assert (_of(decoder, "a"), _of(decoder, "b")) == (_fixed_decimal(), _fixed_decimal().replace(optional=True))
    value = {"a": Decimal("0.05"), "b": Decimal("-0.02")}
    fields = _round_trip(decoder.schema, value)
    assert fields["a"]["type"] == {
        "type": "fixed", "name": "Decimal", "namespace": "org.apache.kafka.connect.data", "size": 4,
        "logicalType": "decimal", "precision": 9, "scale": 2, "connect.name": DECIMAL, "connect.version": 1,
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "9", "connect.fixed.size": "4"},
    }  # fmt: skip
    assert fields["b"]["type"] == ["null", DECIMAL]
    form, latest = avro_format(), registered(MONEY)
    money = _fixed_decimal()
    assert form.encoder(money, form.native(money), latest).write(Decimal("0.05")) == b"\0\0\0\5"
    with pytest.raises(DataError, match="does not fit into 4 bytes"):
        form.encoder(money, form.native(money), None).write(Decimal("99999999.99"))


def test_fixed_decimals_of_several_scales() -> None:
    """They have one name in Avro; each field has its own scale."""
    value = {"a": Decimal("0.05"), "b": Decimal("0.2")}
    assert _round_trip(_record(_fixed_decimal(), _fixed_decimal(1)), value)["b"]["type"] == DECIMAL


def test_a_fixed_that_is_too_small_for_the_precision() -> None:
    for precision in (None, 12):
        with pytest.raises(DataError, match=rf"fixed\(4\) cannot store {precision or 64} digits \(max 9\)"):
            avro_format().native(_fixed_decimal(precision=precision))
    assert avro_format().native(_fixed_decimal(12)).parsed["logicalType"] == "decimal"  # not valid, but Java's


def test_fixed_decimals_in_a_union() -> None:
    other = {**MONEY, "name": "Other", "scale": 1}
    decoder = _decoder(["null", MONEY, other])
    assert decoder.read(b"\2\0\0\0\5") == {"a": {"Money": Decimal("0.05")}}
    assert decoder.read(b"\4\0\0\0\5") == {"a": {"Other": Decimal("0.5")}}
    form, schema = avro_format(), decoder.schema
    with pytest.raises(DataError, match="cannot be distinguished"):
        form.native(schema)
    fields = [{"name": "a", "type": ["null", "string", MONEY, other]}]
    latest = {"type": "record", "name": "R", "namespace": "com.x", "fields": fields}
    single = _decoder(["null", "string", MONEY]).schema
    encoder = form.encoder(single, form.native(single), registered(latest))
    assert encoder.write({"a": {"Money": Decimal("0.05")}}) == b"\4\0\0\0\5"


def test_metadata_of_decimals() -> None:
    kind = {
        "type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2, "connect.doc": "d",
        "connect.default": "\7", "connect.parameters": {"scale": "2", "p": "q"},
    }  # fmt: skip
    schema = _of(_decoder([kind, "null"]), "a")
    assert (schema.doc, schema.default, schema.parameter("p"), schema.optional) == ("d", Decimal("0.07"), "q", True)
