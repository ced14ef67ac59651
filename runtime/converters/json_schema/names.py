"""Names in JSON Schema that Confluent's converter defines, and its options."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.api.data.schema import Schema, Type

NAMESPACE = "io.confluent.connect.json"
ENUM, ONE_OF = f"{NAMESPACE}.Enum", f"{NAMESPACE}.OneOf"
GENERAL_ENUM, GENERAL_UNION = "org.apache.kafka.connect.data.Enum", "org.apache.kafka.connect.data.Union"
UNION_PREFIX = "connect_union_"
TYPE, VERSION, PARAMETERS, INDEX = "connect.type", "connect.version", "connect.parameters", "connect.index"
NULL_SYMBOL = "<NULL>"
NUMBERS = {
    Type.INT8: ("integer", "int8"), Type.INT16: ("integer", "int16"), Type.INT32: ("integer", "int32"),
    Type.INT64: ("integer", "int64"), Type.FLOAT32: ("number", "float32"), Type.FLOAT64: ("number", "float64"),
}  # fmt: skip
"""JSON's type and `connect.type` of each number."""


@dataclass(frozen=True, slots=True)
class JsonSchemaOptions:
    """As the options with these names; `numeric`: decimals are numbers."""

    numeric: bool = False
    additional_properties: bool = True
    optional_unless_required: bool = False
    general: bool = False
    ignore_defaults: bool = False
    flatten_singletons: bool = True
    validate: bool = False


def is_union(schema: Schema) -> bool:
    """Whether a struct has one field for each alternative, one of which has a value."""
    if schema.type is not Type.STRUCT:
        return False
    return schema.name == ONE_OF or schema.parameter(GENERAL_UNION) is not None
