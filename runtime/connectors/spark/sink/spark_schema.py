"""Spark's schemas as Arrow schemas: from DDL, and from the text in which the session sends them."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa

from runtime.connectors.data_source.ddl import parse_ddl


def arrow_columns(ddl: str) -> Any:
    """The columns of a schema as Spark's DDL; ConfigError if it is not understood."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(parse_ddl(ddl), timezone="UTC")


def from_text(text: str) -> Any:
    """The schema in the answer of the session's operation `schema`."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
