"""JsonSchemaConverter: values as JSON, with JSON schemas of Confluent's registry.

`json.fail.invalid.schema` needs jsonschema-rs: `pip install 'headrace[json-schema]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from runtime.api.config.definition import ConfigType
from runtime.api.config.validators import one_of_ignoring_case
from runtime.api.data.columns import ValueBatch
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import ConfigError, DataError
from runtime.converters.json.columns import values_reader, values_writer
from runtime.converters.json.read import InexactError
from runtime.converters.json.text import dumps, loads, loads_exactly
from runtime.converters.json.write import WriteOptions, writer
from runtime.converters.json_schema.connect import ConnectSchemas
from runtime.converters.json_schema.names import JsonSchemaOptions, is_union
from runtime.converters.json_schema.read import value_reader
from runtime.converters.json_schema.references import SchemaDocuments
from runtime.converters.json_schema.schema import JsonSchemas
from runtime.converters.registry.converter import ConfluentConverter
from runtime.converters.registry.formats import Format, NativeSchema
from runtime.converters.registry.options import optional, registry_options, require
from runtime.converters.registry.schemas import RegisteredSchema

PACKAGE = ("json.fail.invalid.schema", "jsonschema-rs", "jsonschema_rs", "json-schema")
OPTIONS = (
    optional("decimal.format", ConfigType.STRING, "BASE64", "Format of decimals: BASE64 (the unscaled bytes) or "
             "NUMERIC (a JSON number).", one_of_ignoring_case("NUMERIC", "BASE64")),
    optional("object.additional.properties", ConfigType.BOOLEAN, True, "Whether schemas allow other properties."),
    optional("use.optional.for.nonrequired", ConfigType.BOOLEAN, False, "Whether properties that are not required are "
             "optional."),
    optional("generalized.sum.type.support", ConfigType.BOOLEAN, False, "Whether enums and unions are described as in "
             "Connect, for all formats alike."),
    optional("ignore.default.for.nullables", ConfigType.BOOLEAN, False, "Whether nulls are written although their "
             "schema has a default."),
    optional("flatten.singleton.unions", ConfigType.BOOLEAN, True, "Whether a union of one type is that type."),
    optional("json.fail.invalid.schema", ConfigType.BOOLEAN, False, "Whether values are validated by their JSON "
             "schema."),
)  # fmt: skip


def _urls(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(f"Invalid value {value} for configuration {name}: set the URL of a schema registry")


class JsonSchemaFormat(Format):
    """`connect.*` keywords keep metadata that JSON Schema cannot express."""

    kind = "JSON"
    write_error = "Converting Kafka Connect data to byte[] failed due to serialization error of topic {}: "
    read_error = "Converting byte[] to Kafka Connect data failed due to serialization error of topic {}: "

    def __init__(self, parsed: Mapping[str, Any], in_hash_order: bool) -> None:
        self._options = JsonSchemaOptions(
            parsed["decimal.format"].upper() == "NUMERIC",
            parsed["object.additional.properties"],
            parsed["use.optional.for.nonrequired"],
            parsed["generalized.sum.type.support"],
            parsed["ignore.default.for.nullables"],
            parsed["flatten.singleton.unions"],
            parsed["json.fail.invalid.schema"],
        )
        if self._options.validate:
            require(*PACKAGE)
        fill = not self._options.ignore_defaults
        self._writing = WriteOptions(fill, self._options.numeric, in_hash_order, is_union)

    def native(self, schema: Schema) -> NativeSchema:
        document = JsonSchemas(self._options, self._writing).document(schema)
        return NativeSchema(orjson.dumps(document).decode(), document.get("title"), document)

    def encoder(self, schema: Schema, native: NativeSchema, target: RegisteredSchema | None) -> JsonSchemaEncoder:
        text, references = (native.text, {}) if target is None else (target.text, target.references)
        return JsonSchemaEncoder(schema, self._writing, self._validator(text, references))

    def decoder(self, schema: RegisteredSchema, path: Sequence[int]) -> JsonSchemaDecoder:
        documents = SchemaDocuments(schema.text, schema.references)
        connect = ConnectSchemas(documents, self._options).root()
        name = documents.root.document.get("title")
        return JsonSchemaDecoder(connect, name, self._validator(schema.text, schema.references))

    def _validator(self, text: str, references: Mapping[str, str]) -> Callable[[bytes], None]:
        return _validator(text, references) if self._options.validate else _accept


class JsonSchemaConverter(ConfluentConverter):
    """Converts Connect's schemas to JSON Schema."""

    java_name = "io.confluent.connect.json.JsonSchemaConverter"
    config_def = registry_options(_urls, *OPTIONS)

    def _made_format(self, parsed: Mapping[str, Any]) -> JsonSchemaFormat:
        return JsonSchemaFormat(parsed, parsed["converter.type"] == "key")

    def _is_null(self, schema: Schema | None) -> bool:
        """An optional value is written as JSON's null, as in Confluent's converter."""
        return schema is None or (schema.default is None and not schema.optional)


class JsonSchemaEncoder:
    """Writes values of one schema."""

    path: Sequence[int] = ()

    def __init__(self, schema: Schema, options: WriteOptions, validate: Callable[[bytes], None]) -> None:
        self._write, self._validate = writer(schema, options), validate
        self._write_batch = values_writer(schema, options, b"", b"")

    def write(self, value: Any) -> bytes:
        data = dumps(self._write(value))
        self._validate(data)
        return data

    def write_batch(self, values: ValueBatch) -> list[bytes]:
        data = self._write_batch(values)
        if self._validate is not _accept:
            for message in data:
                self._validate(message)
        return data


class JsonSchemaDecoder:
    """Reads values of one registered schema."""

    def __init__(self, schema: Schema, name: str | None, validate: Callable[[bytes], None]) -> None:
        self.schema, self.name = schema, name
        self._read, self._validate = value_reader(schema), validate
        self._read_batch = values_reader(schema, True, partial(value_reader, nested=True), is_union)

    def read(self, data: bytes) -> Any:
        self._validate(data)
        try:
            return self._read(loads(data))
        except InexactError:
            return self._read(loads_exactly(data))

    def read_batch(self, data: Sequence[bytes]) -> ValueBatch | None:
        if self.schema.type is not Type.STRUCT or self._validate is not _accept:
            return None
        return self._read_batch(list(map(orjson.loads, data))).with_schema(self.schema)


def _accept(data: bytes) -> None:
    """Values are not validated."""


def _validator(text: str, references: Mapping[str, str]) -> Callable[[bytes], None]:
    import jsonschema_rs

    resources = {name if "://" in name else f"json-schema:///{name}": other for name, other in references.items()}
    registry = jsonschema_rs.Registry([(uri, orjson.loads(other)) for uri, other in resources.items()])
    validator = jsonschema_rs.validator_for(orjson.loads(text), registry=registry)
    return partial(_validate, validator)


def _validate(validator: Any, data: bytes) -> None:
    error = next(iter(validator.iter_errors(orjson.loads(data))), None)
    if error is not None:
        place = "/".join(map(str, error.instance_path)) or "the value"
        raise DataError(f"JSON does not match its schema at {place}: {error.message}")
