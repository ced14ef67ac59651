"""Conversion of Connect's schemas to Avro's, as in Confluent's converter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, logical_name, scale_of
from runtime.api.data.schema import Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro import names
from runtime.converters.avro.defaults import default_json, union_fields
from runtime.converters.avro.names import Avro, kind_of, type_name

NAMESPACE, ENTRY, UNNAMED = "io.confluent.connect.avro", "MapEntry", "ConnectDefault"
DECIMAL_TYPE = "decimal"
LOGICAL = {DECIMAL: DECIMAL_TYPE, DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}
PRECISION, DEFAULT_PRECISION = "connect.decimal.precision", 64
_PLAIN = {
    Type.INT8: "int", Type.INT16: "int", Type.INT32: "int", Type.INT64: "long", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "boolean", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


class AvroSchemas:
    """Builds one Avro schema, which defines each named type once and refers to it by name afterwards."""

    def __init__(self, meta: bool, enhanced: bool) -> None:
        """`meta`: add `connect.*` properties; `enhanced`: write enums as Avro enums."""
        self._meta, self._enhanced = meta, enhanced
        self._named: dict[str, Schema] = {}
        self._unnamed: list[tuple[str, Schema]] = []
        self._space = ""  # of the enclosing record
        self._seen: set[str] = set()  # names of the schemas of fields

    def avro(self, schema: Schema) -> Avro:
        """The Avro schema; a union with null if values are optional."""
        bases = self._branches(schema) if schema.name == names.UNION else [self._base(schema)]
        if not schema.optional:
            return bases if schema.name == names.UNION else bases[0]
        return ["null", *bases] if schema.default is None else [bases[0], "null", *bases[1:]]

    def _branches(self, schema: Schema) -> list[Avro]:
        made = [self._branch(field.schema) for field in union_fields(schema)]
        seen: set[str] = set()
        for name in map(type_name, made):
            if name in seen:
                raise DataError(f"Two branches of a union have the Avro type {name}, so they cannot be distinguished")
            seen.add(name)
        return made

    def _branch(self, schema: Schema) -> Avro:
        """Enums in unions are always Avro enums: as strings they could not be distinguished from strings. Equal structs
        without a name, which are defined once elsewhere, have different names."""
        if schema.type is Type.STRING and names.ENUM in dict(schema.parameters):
            return self._enum(schema, dict(schema.parameters))
        if schema.type is Type.STRUCT and schema.name is None:
            return self._unnamed_record(schema)
        return self.avro(schema.replace(optional=False))

    def _base(self, schema: Schema) -> Avro:
        if schema.type is Type.STRUCT:
            return self._record(schema)
        if schema.type is Type.ARRAY:
            return self._described(schema, {"type": "array", "items": self.avro(schema.element())})
        if schema.type is Type.MAP:
            return self._map(schema)
        return self._simple(schema)

    def _simple(self, schema: Schema) -> Avro:
        parameters = dict(schema.parameters)
        if schema.type is Type.STRING and self._enhanced and names.ENUM in parameters:
            return self._enum(schema, parameters)
        if schema.type is Type.BYTES and names.FIXED_SIZE in parameters and schema.name is not None:
            size = int(parameters[names.FIXED_SIZE])
            return self._once(schema, lambda: self._plain(schema, {**self._head("fixed", schema.name), "size": size}))
        return self._plain(schema, {"type": _PLAIN[schema.type]})

    def _plain(self, schema: Schema, plain: dict[str, Any]) -> Avro:
        """The type `plain` with the properties of its logical type and `connect.*` properties."""
        logical = logical_name(schema)
        if logical == DECIMAL:
            plain |= _digits(schema)
        elif self._meta and schema.type in (Type.INT8, Type.INT16):
            plain["connect.type"] = schema.type.value
        described = self._described(schema, plain)
        if logical is not None:
            described["logicalType"] = LOGICAL[logical]
        return described if len(described) > 1 else described["type"]

    def _enum(self, schema: Schema, parameters: dict[str, str]) -> Avro:
        symbols = [text for key, text in parameters.items() if key.startswith(f"{names.ENUM}.")]
        name = parameters[names.ENUM]
        simple = name.rpartition(".")[2]
        given = {"doc": parameters.get(names.ENUM_DOC + simple), "default": parameters.get(names.ENUM_DEFAULT + simple)}
        more = {key: text for key, text in given.items() if text is not None}
        return self._once(
            schema.replace(name=name),
            lambda: self._described(schema, {**self._head("enum", name), "symbols": symbols, **more}),
        )

    def _map(self, schema: Schema) -> Avro:
        if not _has_entries(schema):
            return self._described(schema, {"type": "map", "values": self.avro(schema.element())})
        return self._described(schema, {"type": "array", "items": self._entry(schema)})

    def _entry(self, schema: Schema) -> Avro:
        """The record of a map's entries, once for equal types of keys and values."""
        keys, values = schema.key(), schema.element()
        name = schema.name or f"{NAMESPACE}.{ENTRY}"

        def make() -> Avro:
            more = {} if schema.name is None else {"connect.internal.type": ENTRY}
            head = self._head("record", name)
            return {**head, "fields": self._inside(head, (Field("key", keys), Field("value", values))), **more}

        return self._once(Schema(Type.MAP, name=name, keys=keys, values=values), make)

    def _record(self, schema: Schema) -> Avro:
        if schema.name is not None:
            return self._once(schema, lambda: self._fields(schema, self._head("record", schema.name)))
        like = schema.replace(optional=False)
        for name, known in self._unnamed:
            if known == like:
                return f"{NAMESPACE}.{name}"
        return self._unnamed_record(schema)

    def _unnamed_record(self, schema: Schema) -> Avro:
        name = f"{UNNAMED}{len(self._unnamed) + 1 if self._unnamed else ''}"
        self._unnamed.append((name, schema.replace(optional=False)))
        return self._fields(schema, {"type": "record", "name": name, "namespace": NAMESPACE})

    def _fields(self, schema: Schema, head: dict[str, Any]) -> Avro:
        parameters = dict(schema.parameters)
        doc = {"doc": parameters[names.RECORD_DOC]} if names.RECORD_DOC in parameters else {}
        fields = self._inside(head, schema.fields, parameters)
        return self._described(schema, {**head, **doc, "fields": fields})

    def _inside(
        self, head: Mapping[str, Any], fields: Iterable[Field], parameters: Mapping[str, str] = MappingProxyType({})
    ) -> list[Avro]:
        """The fields of the record `head`, whose namespace is that of the names within."""
        outer, self._space = self._space, str(head.get("namespace", ""))
        try:
            return [self._field(field, parameters.get(names.FIELD_DOC + field.name)) for field in fields]
        finally:
            self._space = outer

    def _field(self, field: Field, doc: str | None = None) -> Avro:
        if _NAME.fullmatch(field.name) is None or "." in field.name:
            raise DataError(f"{field.name!r} is not a valid field name in Avro")
        schema = field.schema
        repeated = schema.name in self._seen
        if schema.name is not None:
            self._seen.add(schema.name)
        made = {"name": field.name, "type": self.avro(schema)}
        if self._meta and repeated and _is_defined(made["type"]) and (own := _own_parameters(schema)):
            made[names.FIELD_PARAMETERS] = own
        if doc is not None:
            made["doc"] = doc
        default = schema.default
        if default is not None and not (default and _has_entries(schema)):
            made["default"] = default_json(schema, default)
        elif default is None and schema.optional:
            made["default"] = None
        return made

    def _once(self, schema: Schema, make: Any) -> Avro:
        """The definition of a named type at its first use, its name after that."""
        name = str(schema.name)
        known = self._named.get(name)
        like = _shape(schema)
        if known is None:
            self._named[name] = like
            return make()
        if known != like:
            raise DataError(f"Can't redefine: {name}")
        return name

    def _head(self, kind: str, name: str | None) -> dict[str, Any]:
        """A definition without its content. One without a namespace within a record that has one says so."""
        if _NAME.fullmatch(name or "") is None:
            raise DataError(f"{name!r} is not a valid name in Avro")
        space, _, simple = str(name).rpartition(".")
        return {"type": kind, "name": simple, **({"namespace": space} if space or self._space else {})}

    def _described(self, schema: Schema, made: dict[str, Any]) -> dict[str, Any]:
        """The Avro type with `connect.*` properties for metadata that Avro cannot express."""
        made |= {key: text for key, text in schema.parameters if key.startswith(names.AVRO_PROPERTY)}
        if not self._meta:
            return made
        if schema.doc is not None:
            made["connect.doc"] = schema.doc
        if schema.version is not None:
            made["connect.version"] = schema.version
        if parameters := _own_parameters(schema):
            made["connect.parameters"] = parameters
        if schema.default is not None and schema.parameter(names.FIELD_DEFAULT) is None:
            made["connect.default"] = default_json(schema, schema.default)
        if schema.name is not None:
            made["connect.name"] = schema.name
        return made


def _has_entries(schema: Schema) -> bool:
    """Whether values are maps that are arrays of entries in Avro, whose defaults only `connect.default` can express."""
    return schema.type is Type.MAP and (schema.key().type is not Type.STRING or schema.key().optional)


def _shape(schema: Schema) -> Schema:
    """The part of a schema that decides how values of a defined type are encoded. A field has metadata of its own."""
    kept = [
        (key, text) for key, text in schema.parameters if key == names.FIXED_SIZE or key.startswith(f"{names.ENUM}.")
    ]
    return schema.replace(optional=False, default=None, doc=None, version=None, parameters=tuple(kept))


def _is_defined(document: Avro) -> bool:
    """Whether a type, or a branch of a union, is a record, enum or fixed."""
    if isinstance(document, list):
        return any(map(_is_defined, document))
    return kind_of(document) not in (*names.KINDS, "null")


def _own_parameters(schema: Schema) -> dict[str, str]:
    return {key: text for key, text in schema.parameters if key != names.FIELD_DEFAULT}


def _digits(schema: Schema) -> dict[str, int]:
    """Scale and precision of a decimal; DataError if a fixed of its size cannot hold the precision."""
    scale, precision = scale_of(schema), int(schema.parameter(PRECISION) or DEFAULT_PRECISION)
    size = schema.parameter(names.FIXED_SIZE)
    if size is not None and 0 <= scale <= precision and precision > (most := len(str(1 << (8 * int(size) - 1))) - 1):
        raise DataError(f"fixed({size}) cannot store {precision} digits (max {most})")
    return {"scale": scale, "precision": precision}
