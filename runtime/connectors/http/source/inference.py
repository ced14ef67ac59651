"""The schema of a stream, inferred from its records; kept as an offset, so that it survives restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.data.columns import ValueBatch
from runtime.api.task import Partition
from runtime.connectors.http.source.json_types import (
    JsonType,
    converter_of,
    has_schema,
    read_type,
    schema_name,
    schema_of,
    widened,
    write_type,
)
from runtime.connectors.http.source.positions import StreamPositions

SCHEMA_LEVEL = "schema"
"""The level of the partition, and the key of the offset."""


def type_in(offset: Mapping[str, Any]) -> JsonType:
    """The type in an offset; ConnectError if it has none."""
    return read_type(offset.get(SCHEMA_LEVEL) if set(offset) == {SCHEMA_LEVEL} else None)


class Inference:
    """The schema so far. It only widens, for the records of a page before they are converted."""

    def __init__(self, partition: Partition, topic: str, positions: StreamPositions) -> None:
        """`partition` is that of the schema. Raises ConnectError for an offset that is not a schema."""
        self._partition, self._positions = partition, positions
        self._name = schema_name(topic)
        offset = positions.offset(partition)
        self._use(None if offset is None else type_in(offset))

    @property
    def is_known(self) -> bool:
        """Whether any field is known."""
        return has_schema(self._type)

    def observe(self, rows: Sequence[Any]) -> None:
        """Widens the schema by these records."""
        known = self._type
        for row in rows:
            known = widened(known, row)
        if known is not self._type:
            self._use(known)
            if self.is_known:
                self._positions.moved(self._partition, {SCHEMA_LEVEL: write_type(known)})

    def convert(self, rows: Sequence[Any]) -> ValueBatch:
        """The records with their schema, which is widened if they need it."""
        self.observe(rows)
        return ValueBatch(self._schema, [self._converter(row) for row in rows])

    def _use(self, kind: JsonType) -> None:
        self._type = kind
        self._schema, self._converter = schema_of(kind, self._name), converter_of(kind)
