"""Streams, tables and queries as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.engine.driver.session.allowed_paths import check_files
from runtime.engine.driver.session.frames import format_name, selected
from runtime.engine.driver.session.queries import NotAQueryError, check_columns, check_query

STREAM, ONCE = "stream", "once"

_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # as Arrow reads it
    "spark.sql.streaming.schemaInference": "true",
}


def source_frame(session: Any, source: Mapping[str, Any]) -> Any:
    """What the source names. `session` belongs to the source, whose settings it gets. NotAQueryError if it does not fit
    the mode."""
    for key, value in _SETTINGS.items():
        session.conf.set(key, value)
    streaming = source["mode"] == STREAM
    frame = _read(session, session.readStream if streaming else session.read, source)
    if source["path"] and not streaming:
        check_files(frame)
    if source["sql"]:
        sql = source["sql"]
        frame = session.sql(check_query(session, sql)) if frame is None else selected(session, frame, sql)
    check_columns(session, frame.columns)
    if bool(frame.isStreaming) is not streaming:
        remedy = "set spark.mode to once or interval" if streaming else "set spark.mode to stream"
        raise NotAQueryError(f"The source is {'not ' if streaming else ''}a stream: {remedy}")
    return frame


def _read(session: Any, reader: Any, source: Mapping[str, Any]) -> Any:
    """The source without the query; None if there is only a query."""
    reader = reader.options(**source["options"])
    if source["table"]:
        return reader.table(source["table"])
    if not source["format"]:
        return None
    reader = reader.format(format_name(session, source["format"]))
    if source["schema"]:
        reader = reader.schema(source["schema"])
    return reader.load(source["path"] or None)
