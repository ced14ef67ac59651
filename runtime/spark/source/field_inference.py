"""The columns of values without a schema, inferred from the first records as Spark does for JSON files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from runtime.api.errors import ConfigError
from runtime.connectors.files.arrow_merge import MergeError, merged_type, writable_schema
from runtime.connectors.spark.sink.columns import spark_compatible

_types = pa.types


class FieldInference:
    """Merges the fields of records: integers and decimals become the latter, other types texts."""

    def __init__(self, records: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`records`: after which the schema is known; `seconds` after the first of them, if fewer arrive."""
        self._left, self._seconds, self._clock = records, seconds, clock
        self._until: float | None = None
        self._fields: dict[str, Any] = {}
        self._seen = False

    @property
    def enough(self) -> bool:
        return self._left <= 0 or (self._until is not None and self._clock() >= self._until)

    @property
    def schema(self) -> Any:
        """The Arrow schema, with types that Spark has; None without records."""
        if not self._seen:
            return None
        schema = writable_schema(pa.schema([pa.field(name, kind) for name, kind in self._fields.items()]))
        return pa.schema([pa.field(field.name, spark_compatible(field.type)) for field in schema])

    def add(self, polls: Iterable[Iterable[Any]]) -> None:
        """The Arrow schemas of the records of each poll, until there are enough. ConfigError if two have fields that
        cannot be one column."""
        for schemas in polls:
            for schema in schemas:
                if self._until is None:
                    self._until = self._clock() + self._seconds
                self._add(schema)
                self._left -= 1
                if self._left <= 0:
                    return
            if self.enough:
                return

    def _add(self, schema: Any) -> None:
        self._seen = True
        for field in schema:
            known = self._fields.get(field.name)
            self._fields[field.name] = field.type if known is None else _common(field.name, known, field.type)


def _common(name: str, first: Any, second: Any) -> Any:
    try:
        return merged_type(first, second)
    except MergeError:
        if not _types.is_nested(first) and not _types.is_nested(second):
            return pa.string()
        raise ConfigError(
            f"The field {name} has values of the types {first} and {second}, which cannot be one column: give the "
            "schema with .schema('id BIGINT, name STRING')"
        ) from None
