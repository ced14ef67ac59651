"""Rows that a task has staged as a Parquet file, as a DataFrame; and SQL over them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from runtime.connectors.data_source.loading import is_python_class
from runtime.engine.driver.session.python_format import register_class
from runtime.engine.driver.session.queries import check_query

_UNREGISTERED = {"avro": "org.apache.spark.sql.avro.AvroFileFormat"}
"""Formats that Spark's SQL module contains, but whose names only an additional jar registers."""


def format_name(session: Any, name: str) -> str:
    """The name, or the class of a format whose name Spark does not know. The class of a Python data source becomes
    known to the session; NotAQueryError if there is no such class."""
    return register_class(session, name) if is_python_class(name) else _UNREGISTERED.get(name, name)


_VIEW = "record"
_view_lock = threading.Lock()


def staged_rows(session: Any, files: Sequence[str]) -> Any:
    """The rows of Parquet files on this machine with the same schema, which is read here: Spark would start a job."""
    from pyarrow import parquet
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(parquet.read_schema(files[0]), prefer_timestamp_ntz=True)
    if not session.sparkContext.master.startswith("local"):  # executors do not have the files
        return session.createDataFrame(parquet.read_table(files), schema)
    return session.read.schema(schema).parquet(*(f"file://{file}" for file in files))


def selected(session: Any, frame: Any, sql: str) -> Any:
    """The result of a query over the view `record`. The view exists only while the query is analysed: the connectors
    share one session. NotAQueryError if it is no query."""
    query = check_query(session, sql)
    with _view_lock:
        frame.createOrReplaceTempView(_VIEW)
        try:
            return session.sql(query)
        finally:
            session.catalog.dropTempView(_VIEW)
