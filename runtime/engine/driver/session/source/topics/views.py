"""The columns of a topic's view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MALFORMED, _PARSED = "headrace_malformed", "headrace_parsed"
_METADATA = {"key": "CAST(key AS STRING)", "value": "CAST(value AS STRING)", "topic": "topic", "partition": "partition",
             "offset": "offset", "timestamp": "timestamp", "headers": "headers"}  # fmt: skip
_NOT_DETERMINISTIC = "spark_partition_id() >= 0"  # true, although Spark does not know that


def latest_by_key(frame: Any) -> Any:
    """The last record of each key of a topic, without keys whose last value is null."""
    from pyspark.sql import functions as f

    record = f"struct({', '.join(frame.columns)})"
    last = f.expr(f"max_by({record}, struct(timestamp, offset))").alias("last")
    rows = frame.where("key IS NOT NULL").groupBy("key").agg(last)
    return rows.select("last.*").where("value IS NOT NULL")


def view(frame: Any, schema: str, skip_malformed: bool) -> Any:
    """Key and value as text and the other columns of a record; before them, with a schema as DDL, the fields of the
    value, which hide columns of the same name. `skip_malformed`: leave out values that are not JSON of the schema, or
    not text; otherwise they fail the query."""
    from pyspark.sql import functions as f

    malformed = "NOT is_valid_utf8(CAST(value AS STRING))"
    fields: list[Any] = []
    if schema:
        text = f.col("value").cast("string")
        options = {"columnNameOfCorruptRecord": _MALFORMED}
        parsed = f.from_json(text, f"{schema}, {_MALFORMED} STRING", options)
        # Spark copies a deterministic expression into each condition that uses it: values would be parsed several times
        frame = frame.withColumn(_PARSED, f.when(f.expr(_NOT_DETERMINISTIC), parsed))
        malformed += f" OR {_PARSED} IS NULL OR {_PARSED}.{_MALFORMED} IS NOT NULL"
        names = [field.name for field in frame.schema[_PARSED].dataType.fields if field.name != _MALFORMED]
        fields = [f.col(_PARSED).getField(name).alias(name) for name in names]
    wrong = f"(value IS NOT NULL AND ({malformed}))"
    frame = frame.where(f"NOT {wrong}" if skip_malformed else _accepted(wrong, bool(schema)))
    hidden = {name.lower() for name in (frame.schema[_PARSED].dataType.names if schema else ())}
    more = [f.expr(text).alias(name) for name, text in _METADATA.items() if name not in hidden]
    return frame.select(*fields, *more)


def first_of_each(rows: Any, unique: Mapping[str, Any] | None) -> Any:
    """The first record of each value of some columns, for all time or within a time after it."""
    if unique is None:
        return rows
    if unique["time"] is None:
        return rows.dropDuplicates(unique["columns"])
    return rows.withWatermark(unique["column"], unique["time"]).dropDuplicatesWithinWatermark(unique["columns"])


def _accepted(wrong: str, has_schema: bool) -> str:
    """A condition that is true, or raises an error that names the record. Conditions of the query are not evaluated
    before it, as those that are deterministic may be: `id > 0` would leave out a malformed record."""
    expected = "JSON of the schema (query.schema)" if has_schema else "text in UTF-8"
    place = "concat('The value of ', topic, '-', partition, ' at offset ', offset, ' is not "
    return f"CASE WHEN {wrong} THEN CAST(raise_error({place}{expected}')) AS BOOLEAN) ELSE {_NOT_DETERMINISTIC} END"
