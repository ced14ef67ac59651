"""Spark's schemas as Arrow schemas, with any supported PySpark."""

from __future__ import annotations

from inspect import signature
from typing import Any


def arrow_schema(schema: Any) -> Any:
    """The Arrow schema of a Spark schema. Timestamps with a time zone are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # PySpark 4.1 has no parameter for the zone, which is always UTC there.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)
