"""Spark's schemas as Arrow schemas: from DDL, and from the text in which the session sends them."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa

from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.data_source.ddl import parse_ddl


def arrow_columns(ddl: str) -> Any:
    """The columns of a schema as Spark's DDL; ConfigError if it is not understood."""
    return arrow_schema(parse_ddl(ddl))


def from_text(text: str) -> Any:
    """The schema in the answer of the session's operation `schema`."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
