"""AvroConverter: values in Avro's binary encoding, with schemas of Confluent's registry.

It needs fastavro: `pip install 'headrace[avro]'`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from runtime.api.config.definition import ConfigType
from runtime.api.data.arrow_column import MIN_RECORDS
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema
from runtime.converters.avro.columns import AvroColumnReader, AvroColumnWriter, column_reader, column_writer
from runtime.converters.avro.names import type_name
from runtime.converters.avro.read import ToConnect, connect_schema
from runtime.converters.avro.schema import AvroSchemas
from runtime.converters.avro.target import TargetSchema
from runtime.converters.avro.union import UnionCodec
from runtime.converters.avro.write import FromConnect, is_plain, value_writer
from runtime.converters.charset import well_formed
from runtime.converters.registry.client import AVRO
from runtime.converters.registry.converter import ConfluentConverter
from runtime.converters.registry.formats import Format, NativeSchema
from runtime.converters.registry.options import installed, missing, optional, registry_options, require
from runtime.converters.registry.schemas import RegisteredSchema

PACKAGE = ("AvroConverter", "fastavro", "fastavro", "avro")
MISSING = missing(*PACKAGE[:2], PACKAGE[3])
OPTIONS = (
    optional("connect.meta.data", ConfigType.BOOLEAN, True, "Whether to write and read connect.* properties."),
    optional(
        "enhanced.avro.schema.support",
        ConfigType.BOOLEAN,
        False,
        "Whether to write enums as Avro enums, and to name the branches of unions by the full names of their types.",
    ),
)


class AvroFormat(Format):
    """`connect.*` properties keep metadata that Avro cannot express."""

    kind = AVRO
    write_error = "Failed to serialize Avro data from topic {} :"
    read_error = "Failed to deserialize data for topic {} to Avro: "

    def __init__(self, parsed: Mapping[str, Any]) -> None:
        require(*PACKAGE)
        self._meta, self._enhanced = parsed["connect.meta.data"], parsed["enhanced.avro.schema.support"]

    def native(self, schema: Schema) -> NativeSchema:
        avro = AvroSchemas(self._meta, self._enhanced).avro(schema)
        return NativeSchema(orjson.dumps(avro).decode(), _record_name(avro) or schema.name, avro)

    def encoder(self, schema: Schema, native: NativeSchema, target: RegisteredSchema | None) -> AvroEncoder:
        codec = UnionCodec(self._enhanced)
        for text in target.references.values() if target is not None else ():
            codec.parse(json.loads(text))
        parsed = codec.parse(native.parsed if target is None else json.loads(target.text))
        convert = value_writer(schema, TargetSchema(parsed, codec.named, own=target is None))
        plain = target is None and is_plain(schema)
        return AvroEncoder(parsed, convert, plain, column_writer(schema, parsed) if plain else None)

    def decoder(self, schema: RegisteredSchema, path: Sequence[int]) -> AvroDecoder:
        document, named = json.loads(schema.text), [json.loads(text) for text in schema.references.values()]
        connect, convert = connect_schema(document, named, self._meta, self._enhanced)
        codec = UnionCodec(self._enhanced, defaults=False)
        for other in named:
            codec.parse(other)
        parsed = codec.parse(document)
        columns = column_reader(parsed) if convert is None else None
        return AvroDecoder(connect, _record_name(document), convert, parsed, columns)


def _record_name(document: Any) -> str | None:
    """The full name of a record, also of a struct without a name, by which strategies name subjects."""
    return type_name(document) if isinstance(document, dict) and document["type"] == "record" else None


class AvroConverter(ConfluentConverter):
    """Converts Connect's schemas to Avro's."""

    java_name = "io.confluent.connect.avro.AvroConverter"
    config_def = registry_options(installed(*PACKAGE), *OPTIONS)

    def _made_format(self, parsed: Mapping[str, Any]) -> AvroFormat:
        return AvroFormat(parsed)


class AvroEncoder:
    """Writes values of one schema."""

    path: Sequence[int] = ()

    def __init__(self, parsed: Any, convert: FromConnect | None, plain: bool, columns: AvroColumnWriter | None) -> None:
        """`plain`: rows of a batch need no conversion; those that are refused are then converted one by one."""
        from fastavro import schemaless_writer

        self._convert, self._parsed, self._write = convert, parsed, schemaless_writer
        self._convert_rows, self._columns = None if plain else convert, columns

    def write(self, value: Any) -> bytes:
        return self._written(value if self._convert is None else self._convert(value))

    def write_batch(self, values: ValueBatch) -> list[bytes]:
        if self._columns is not None and values.count >= MIN_RECORDS:
            written = self._columns.write(values)
            if written is not None:
                return written
        rows = values.rows if self._convert_rows is None else map(self._convert_rows, values.rows)
        return list(map(self._written, rows))

    def _written(self, value: Any) -> bytes:
        out = io.BytesIO()
        try:
            self._write(out, self._parsed, value)
        except UnicodeEncodeError:
            out = io.BytesIO()
            self._write(out, self._parsed, well_formed(value))
        return out.getvalue()


class AvroDecoder:
    """Reads the values of one registered schema."""

    def __init__(
        self, schema: Schema, name: str | None, convert: ToConnect | None, parsed: Any, columns: AvroColumnReader | None
    ) -> None:
        from fastavro import schemaless_reader

        self.schema, self.name = schema, name or schema.name
        self._convert, self._parsed, self._read = convert, parsed, schemaless_reader
        self._columns = columns

    def read(self, data: bytes) -> Any:
        value = self._read(io.BytesIO(data), self._parsed, None, handle_unicode_errors="replace")
        return value if self._convert is None else self._convert(value)

    def read_batch(self, data: Sequence[bytes]) -> ValueBatch:
        if self._columns is not None and len(data) >= MIN_RECORDS:
            return ValueBatch.struct(self.schema, self._columns.read(data), len(data))
        return ValueBatch(self.schema, [self.read(message) for message in data])
