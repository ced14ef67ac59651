"""Names and targets ("module:Class") of the bundled transformations and predicates.

The tables have the class and its module. A name without a package is in that of Connect; Headrace's own transformations
have the package `headrace`: ("headrace.Mask", "mask") is `headrace.Mask$Key` and `headrace.Mask$Value`.
"""

from __future__ import annotations

_K = "org.apache.kafka.connect.transforms."
_OF_PARTS = (
    ("Cast", "cast"),
    ("ExtractField", "extract_field"),
    ("Flatten", "flatten"),
    ("HeaderFrom", "header_from"),
    ("HoistField", "hoist_field"),
    ("InsertField", "insert_field"),
    ("MaskField", "mask_field"),
    ("ReplaceField", "replace_field"),
    ("SetSchemaMetadata", "set_schema_metadata"),
    ("TimestampConverter", "timestamp_converter"),
)
_OF_RECORDS = (
    ("DropHeaders", "headers"),
    ("Filter", "filter"),
    ("InsertHeader", "headers"),
    ("RegexRouter", "routers"),
    ("TimestampRouter", "routers"),
    ("ValueToKey", "value_to_key"),
    ("headrace.PythonUdf", "python_udf.udf"),
    ("headrace.SparkSql", "spark_sql.sql"),
)


def named(name: str, module: str, *parts: str) -> tuple[tuple[str, str], ...]:
    """The full name and the target of a transformation; with parts, those of the class for each part of a record."""
    full = name if "." in name else f"{_K}{name}"
    target = f"runtime.transforms.{module}:{name.rpartition('.')[2]}"
    return tuple((f"{full}${part}", f"{target}{part}") for part in parts) or ((full, target),)


TRANSFORMATIONS: tuple[tuple[str, str], ...] = (
    *(pair for entry in _OF_PARTS for pair in named(*entry, "Key", "Value")),
    *(pair for entry in _OF_RECORDS for pair in named(*entry)),
)
"""Full name and target of each."""

PREDICATES: tuple[tuple[str, str], ...] = tuple(
    (f"{_K}predicates.{name}", f"runtime.transforms.predicates.conditions:{name}")
    for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
)

ABSTRACT: dict[str, tuple[str, ...]] = {
    pairs[0][0].partition("$")[0]: tuple(name for name, _ in pairs)
    for pairs in (named(*entry, "Key", "Value") for entry in _OF_PARTS)
}
"""Abstract classes, and their concrete subclasses."""
