"""Topics as a data source of Spark: streams, and all records as a table.

Spark calls the planner's methods in one Python process for each stream, and read() in its Python workers. The jar of
Spark's own Kafka source is not needed, nor another set of client properties: the clients are those of sinks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from runtime.connectors.data_source.arrow_schema import arrow_schema
from runtime.connectors.spark.query.topic_ranges import Position, RecordRange, TopicOffsets, record_batches

FORMAT = "headrace_topic"
SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
"""The columns, as of Spark's own Kafka source."""
_INPUT = "input"


@dataclass(frozen=True, slots=True)
class TopicInput:
    """A topic and how to read it. `start`: where a new query starts, empty for tables. `most`: records of a batch."""

    topic: str
    consumer: Mapping[str, Any]
    admin: Mapping[str, Any]
    start: Position
    most: int

    def options(self) -> dict[str, str]:
        """As the options of a reader."""
        return {_INPUT: json.dumps(asdict(self))}


@dataclass
class RangePartition(InputPartition):
    """Records that one task of Spark reads."""

    records: RecordRange


class TopicDataSource(DataSource):
    """One topic."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return TopicReader(self._input, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return TopicStreamReader(self._input, schema)

    @property
    def _input(self) -> TopicInput:
        return TopicInput(**json.loads(self.options[_INPUT]))


class TopicReader(DataSourceReader):
    """All records of a topic."""

    def __init__(self, source: TopicInput, schema: StructType) -> None:
        self._source, self._schema = source, schema

    def partitions(self) -> Sequence[InputPartition]:
        offsets = TopicOffsets(self._source.admin, self._source.topic)
        return [RangePartition(records) for records in offsets.ranges(offsets.earliest(), offsets.latest())]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, RangePartition)
        return record_batches(self._source.consumer, partition.records, arrow_schema(self._schema))


class TopicStreamReader(DataSourceStreamReader):
    """The records of a topic, batch by batch."""

    def __init__(self, source: TopicInput, schema: StructType) -> None:
        self._source, self._schema = source, schema
        self._kept: TopicOffsets | None = None  # of the planner's process

    def initialOffset(self) -> dict[str, Any]:
        return self._source.start

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._source.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return self._offsets.end(start, None if isinstance(limit, ReadAllAvailable) else self._source.most)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [RangePartition(records) for records in self._offsets.ranges(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, RangePartition)
        return record_batches(self._source.consumer, partition.records, arrow_schema(self._schema))

    @property
    def _offsets(self) -> TopicOffsets:
        if self._kept is None:
            self._kept = TopicOffsets(self._source.admin, self._source.topic)
        return self._kept
