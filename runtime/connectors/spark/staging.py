"""What SparkSink and the Spark session agree on: how batches are staged, and the columns of changes."""

from __future__ import annotations

from enum import StrEnum


class Staging(StrEnum):
    """Where rows are before their offsets have been committed."""

    NONE = ""  # written directly, at least once
    FILES = "files"  # files beside their place
    DELTA = "delta"  # files that are then written to a Delta table
    ICEBERG = "iceberg"  # a branch of an Iceberg table


DELETED, SEQUENCE = "__deleted", "__sequence"
"""Columns of a batch of changes: whether the row of the key is deleted, and what orders the changes of a key. The table
has the first if deletions keep the row, the second if changes have a sequence."""

UNCHANGED = "__unchanged"
"""Column of a batch of changes, if any of them has such values: the names of the columns that keep their values."""
