"""The options of ProtobufConverter, as Confluent names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigType
from runtime.converters.registry.options import optional


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """Each field is an option: `int_for_enums` is `int.for.enums`."""

    enhanced_protobuf_schema_support: bool = False
    generalized_sum_type_support: bool = False
    ignore_default_for_nullables: bool = False
    scrub_invalid_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
    generate_struct_for_nulls: bool = False
    generate_index_for_unions: bool = True
    flatten_unions: bool = False


_DOCS = {
    "enhanced_protobuf_schema_support": "Whether names of schemas include the package.",
    "generalized_sum_type_support": "Whether enums and unions are described as in Connect, for all formats alike.",
    "ignore_default_for_nullables": "Whether nulls are written although their schema has a default.",
    "scrub_invalid_names": "Whether invalid characters in names are replaced.",
    "int_for_enums": "Whether enums become integers.",
    "optional_for_nullables": "Whether optional fields are written with the label optional.",
    "optional_for_proto2": "Whether an optional field of proto2 without a value becomes null.",
    "wrapper_for_nullables": "Whether optional fields are written as wrappers, such as google.protobuf.StringValue.",
    "wrapper_for_raw_primitives": "Whether a wrapper, as the whole value or in a field, is read as a primitive.",
    "generate_struct_for_nulls": "Whether a message without a value becomes a struct of default values.",
    "generate_index_for_unions": "Whether the name of a union ends with the index of its oneof.",
    "flatten_unions": "Whether the members of a oneof become fields of the struct around it.",
}


def _key(name: str) -> str:
    return name.replace("_", ".")


OPTIONS: tuple[ConfigKey, ...] = tuple(
    optional(_key(field.name), ConfigType.BOOLEAN, field.default, _DOCS[field.name])
    for field in fields(ProtobufOptions)
)


def protobuf_options(parsed: Mapping[str, Any]) -> ProtobufOptions:
    return ProtobufOptions(**{field.name: parsed[_key(field.name)] for field in fields(ProtobufOptions)})
