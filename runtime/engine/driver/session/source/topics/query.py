"""A query over topics: its views with their columns, its result, and its check before the connector starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from runtime.connectors.spark.query.topic_ranges import Position, TopicOffsets
from runtime.engine.driver.session.plans import companion
from runtime.engine.driver.session.queries import NotAQueryError, check_columns, check_query
from runtime.engine.driver.session.registration import register
from runtime.engine.driver.session.source.checkpoint import SourceCheckpoint
from runtime.engine.driver.session.source.topics.continuation import check_continuation, query_state
from runtime.engine.driver.session.spark_version import require_spark_4_2

_MALFORMED, _PARSED = "headrace_malformed", "headrace_parsed"
_METADATA = {"key": "CAST(key AS STRING)", "value": "CAST(value AS STRING)", "topic": "topic", "partition": "partition",
             "offset": "offset", "timestamp": "timestamp", "headers": "headers"}  # fmt: skip
_NOT_DETERMINISTIC = "spark_partition_id() >= 0"  # true, although Spark does not know that


def latest_by_key(frame: Any) -> Any:
    """The last record of each key of a topic, without keys whose last value is null. As for compaction, the last one
    of a partition is that with the highest offset: the clocks of producers differ. Of a key in several partitions the
    latest of these counts."""
    from pyspark.sql import functions as f

    last = f.expr(f"max_by(struct({', '.join(frame.columns)}), offset)").alias("last")
    latest = f.expr("max_by(last, struct(last.timestamp, last.offset))").alias("last")
    rows = frame.where("key IS NOT NULL").groupBy("key", "partition").agg(last).groupBy("key").agg(latest)
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


_EARLIEST = "earliest"
_SETTINGS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}  # as Arrow reads it
_PARTITIONS = "spark.sql.shuffle.partitions"

Read = Callable[[str, bool], Any]
"""The records of a topic, as a stream or not."""


def topics_frame(session: Any, source: Mapping[str, Any], checkpoint: SourceCheckpoint) -> Any:
    """The result of the query as a stream, which continues from the checkpoint. CheckpointError if it cannot."""
    require_spark_4_2("KafkaQuery")
    from runtime.engine.driver.session.source.topics.data_source import FORMAT, TopicDataSource, TopicInput

    query = source["query"]
    stored = checkpoint.stored_query()
    known = None if stored is None else json.loads(stored)
    starts = _starts(query) if known is None else known["starts"]
    register(session, TopicDataSource)

    def read(topic: str, as_stream: bool) -> Any:
        options = TopicInput(
            topic, query["consumer"], query["admin"], starts.get(topic, {}), query["batch_records"]
        ).options()
        return (session.readStream if as_stream else session.read).format(FORMAT).options(**options).load()

    if known is not None and known["state"]["topics"] != list(query["topics"]):
        check_continuation(known["state"], {**known["state"], "topics": list(query["topics"])}, checkpoint.place)
    frame = _result(session, source, read)
    state = query_state(frame, source)
    if known is not None:
        check_continuation(known["state"], state, checkpoint.place)
    document = {"starts": starts, "state": state}
    if document != known:
        checkpoint.store_query(json.dumps(document))
    return frame


def check_topics_query(session: Any, source: Mapping[str, Any]) -> None:
    """Whether Spark accepts the query, without reading topics. NotAQueryError, or Spark's error, if it does not."""
    require_spark_4_2("KafkaQuery")
    from runtime.engine.driver.session.source.topics.data_source import SCHEMA

    def read(topic: str, as_stream: bool) -> Any:
        rows = session.readStream.format("rate").load() if as_stream else session.range(0)
        return rows.select(*_nulls(SCHEMA))

    frame = _result(session, source, read)
    if not frame.isStreaming:
        raise NotAQueryError("spark.sql reads none of the topics of query.topics, so that it is not a stream")
    mode = getattr(session._jvm.org.apache.spark.sql.streaming.OutputMode, source["query"]["output_mode"].capitalize())
    checker = companion(session._jvm.org.apache.spark.sql.catalyst.analysis, "UnsupportedOperationChecker")
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode())
    names = frame.columns
    if missing := [name for name in source["key"] if name not in names]:
        raise NotAQueryError(f"spark.key names no column of spark.sql: {missing[0]}. Columns: {', '.join(names)}")
    if untyped := [field.name for field in frame.schema if field.dataType.typeName() == "void"]:
        raise NotAQueryError(f"Column {untyped[0]} of spark.sql has no type: cast it")


def _result(session: Any, source: Mapping[str, Any], read: Read) -> Any:
    """The result of the query over the views, which belong to the session of this connector."""
    query = source["query"]
    for key, value in {**_SETTINGS, _PARTITIONS: str(query["partitions"])}.items():
        session.conf.set(key, value)
    text = check_query(session, source["sql"], view=query["topics"][0])
    skip = query["malformed"] == "skip"
    inputs = [*((topic, True) for topic in query["topics"]), *((topic, False) for topic in query["tables"])]
    for topic, as_stream in inputs:
        records = read(topic, as_stream)
        rows = records if as_stream else latest_by_key(records)
        columns = view(rows, query["schemas"].get(topic, ""), skip)
        first_of_each(columns, query["unique"].get(topic)).createOrReplaceTempView(f"`{topic}`")
    frame = session.sql(text)
    check_columns(session, frame.columns)
    return frame


def _starts(query: Mapping[str, Any]) -> dict[str, Position]:
    """Where a new query starts, stored so that a batch of its own is the same after a crash."""
    starts = {}
    for topic in query["topics"]:
        offsets = TopicOffsets(query["admin"], topic)
        starts[topic] = offsets.earliest() if query["start"] == _EARLIEST else offsets.latest()
    return starts


def _nulls(schema: str) -> list[Any]:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    return [f.lit(None).cast(field.dataType).alias(field.name) for field in StructType.fromDDL(schema)]
