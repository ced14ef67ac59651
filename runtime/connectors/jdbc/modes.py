"""Values of the source's keys that have a fixed set of them."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """How a source finds new rows (`mode`)."""

    BULK = "bulk"
    INCREMENTING = "incrementing"
    TIMESTAMP = "timestamp"
    BOTH = "timestamp+incrementing"

    @property
    def incrementing(self) -> bool:
        """Whether a column grows with each row."""
        return self in (Mode.INCREMENTING, Mode.BOTH)

    @property
    def timestamp(self) -> bool:
        """Whether columns tell when a row was changed."""
        return self in (Mode.TIMESTAMP, Mode.BOTH)


class NumericMapping(StrEnum):
    """How decimal columns become fields (`numeric.mapping`)."""

    NONE = "none"
    PRECISION_ONLY = "precision_only"
    BEST_FIT = "best_fit"
    BEST_FIT_EAGER_DOUBLE = "best_fit_eager_double"


class ZeroDates(StrEnum):
    """What becomes of dates of MySQL and MariaDB without a year, month or day, such as 0000-00-00 (`zero.dates`)."""

    FAIL = "fail"
    NULL = "null"
    EPOCH = "epoch"


class Granularity(StrEnum):
    """How timestamp columns become fields (`timestamp.granularity`)."""

    CONNECT_LOGICAL = "connect_logical"
    MICROS_LONG = "micros_long"
    MICROS_STRING = "micros_string"
    MICROS_ISO = "micros_iso_datetime_string"
    NANOS_LONG = "nanos_long"
    NANOS_STRING = "nanos_string"
    NANOS_ISO = "nanos_iso_datetime_string"
