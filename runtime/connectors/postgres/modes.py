"""The choices of options, with Debezium's names."""

from __future__ import annotations

from enum import StrEnum


class SnapshotMode(StrEnum):
    """When tables are read completely before their changes."""

    INITIAL = "initial"
    INITIAL_ONLY = "initial_only"
    NO_DATA = "no_data"
    NEVER = "never"
    ALWAYS = "always"

    @property
    def reads(self) -> bool:
        """Whether a connector without offsets reads the tables."""
        return self not in (SnapshotMode.NO_DATA, SnapshotMode.NEVER)


class Decimals(StrEnum):
    """How numeric values with many digits are written."""

    PRECISE = "precise"
    DOUBLE = "double"
    STRING = "string"


class TimePrecision(StrEnum):
    """The unit of dates and times: by their precision, or Connect's milliseconds."""

    ADAPTIVE = "adaptive"
    ADAPTIVE_MICROS = "adaptive_time_microseconds"
    CONNECT = "connect"


class Binary(StrEnum):
    """How bytes are written."""

    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL = "base64-url-safe"
    HEX = "hex"


class Intervals(StrEnum):
    """How intervals are written: as microseconds, or in ISO 8601."""

    NUMERIC = "numeric"
    STRING = "string"


class HStores(StrEnum):
    """How the pairs of hstore are written: as JSON, or as a map."""

    JSON = "json"
    MAP = "map"


class Autocreate(StrEnum):
    """Which tables a publication has that the connector creates."""

    ALL_TABLES = "all_tables"
    FILTERED = "filtered"
    DISABLED = "disabled"
