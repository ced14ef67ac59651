"""How SparkSink stages the batches of a target, as requests to the session name it."""

from __future__ import annotations

from enum import StrEnum


class Staging(StrEnum):
    """Where rows are before their offsets have been committed."""

    NONE = ""  # written directly, at least once
    FILES = "files"  # files beside their place
    DELTA = "delta"  # files that are then written to a Delta table
    ICEBERG = "iceberg"  # a branch of an Iceberg table
