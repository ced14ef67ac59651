"""Types of columns, independent of the database."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

UUID_NAME = "io.debezium.data.Uuid"
JSON_NAME = "io.debezium.data.Json"
MICRO_TIMESTAMP_NAME = "io.debezium.time.MicroTimestamp"
NANO_TIMESTAMP_NAME = "io.debezium.time.NanoTimestamp"
"""Names of schemas that the change data connectors of Debezium introduced and other sinks know too."""


class Kind(StrEnum):
    """What the values of a column are."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal"
    TEXT = "text"
    BYTES = "bytes"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp with time zone"
    UUID = "uuid"
    JSON = "json"
    ARRAY = "array"
    OTHER = "other"


class UndecodedText(bytes):
    """A text of SQLite, which does not check texts, that is not UTF-8."""

    @classmethod
    def unless_valid(cls, data: bytes) -> str | UndecodedText:
        """The text, if it is valid."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            return cls(data)


INTEGERS = frozenset({Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64})
TIMESTAMPS = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_TZ})


@dataclass(frozen=True, slots=True)
class DatabaseType:
    """The type of a column. `precision` and `scale` are those of decimals, None if the column does not limit them; the
    `precision` of timestamps is the number of digits of their fractions of seconds, None if unknown. `element` is the
    type of an array's elements."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    element: DatabaseType | None = None


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column as the database describes it."""

    name: str
    type: DatabaseType
    nullable: bool = True
    key: bool = False
