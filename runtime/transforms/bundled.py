"""Java names and targets ("module:Class") of the bundled transformations and predicates."""

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
)

TRANSFORMATIONS: tuple[tuple[str, str], ...] = (
    *((f"{_K}{name}${part}", f"runtime.transforms.{module}:{name}{part}")
      for name, module in _OF_PARTS for part in ("Key", "Value")),
    *((f"{_K}{name}", f"runtime.transforms.{module}:{name}") for name, module in _OF_RECORDS),
)  # fmt: skip
"""Java name and target of each."""

PREDICATES: tuple[tuple[str, str], ...] = tuple(
    (f"{_K}predicates.{name}", f"runtime.transforms.predicates.conditions:{name}")
    for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
)

ABSTRACT: dict[str, tuple[str, ...]] = {
    f"{_K}{name}": (f"{_K}{name}$Key", f"{_K}{name}$Value") for name, _ in _OF_PARTS
}
"""Abstract classes, and their concrete subclasses."""
