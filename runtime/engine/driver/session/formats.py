"""Names of formats in Spark."""

from __future__ import annotations

_UNREGISTERED = {"avro": "org.apache.spark.sql.avro.AvroFileFormat"}
"""Formats that Spark's SQL module contains, but whose names only an additional jar registers."""


def format_name(name: str) -> str:
    """The name, or the class of a format whose name Spark does not know."""
    return _UNREGISTERED.get(name, name)
