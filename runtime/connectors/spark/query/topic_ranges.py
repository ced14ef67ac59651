"""Offsets of a topic, and the records between two offsets as Arrow batches.

    {"id": "6vZc…", "offsets": {"0": 1200, "1": 1187}}    a position: the topic's id, and each partition's next offset

Only committed records are read, up to the last stable offset. Records between two offsets are the same whenever they
are read, so that a batch that Spark repeats has the same input; a position whose records are gone is an error.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.kafka.clients import listed_offsets, open_clients
from runtime.kafka.errors import is_transient

_TIMEOUT = 15.0  # seconds for a request
_LEADER_CHANGE, _RETRY = 30.0, 0.25  # seconds for which a request that may succeed later is repeated, and between two
_CHECK_TIMEOUT = 5.0  # seconds for the check of a configuration
_STALLED = 60.0  # seconds without a record or the end of the partition
_ROWS = 10_000  # of an Arrow batch, at most
_WAIT = 0.1  # seconds for these
_AHEAD = {"fetch.queue.backoff.ms": 10}  # with a full queue; the default, one second, is longer than the queue lasts

Position = dict[str, Any]
"""A position in a topic as JSON."""


class TopicsUnreachableError(ConnectError):
    """The brokers have not responded."""


class TopicChangedError(ConnectError):
    """The records at a position are gone."""


class RecordRange(NamedTuple):
    """The records of a partition from offset `start` to the one before `end`."""

    topic: str
    partition: int
    start: int
    end: int


class TopicOffsets:
    """Positions of a topic, read with an admin client that is kept."""

    def __init__(self, settings: Mapping[str, Any], topic: str, patience: float = _LEADER_CHANGE) -> None:
        """`settings` of the admin client; `patience`: seconds until records that are missing are lost."""
        self._topic, self._patience = topic, patience
        self._admin = open_clients.KeptAdmin(settings)

    def earliest(self) -> Position:
        """The first records."""
        return self._listed("earliest")

    def latest(self) -> Position:
        """The position behind the last committed records. TopicsUnreachableError if brokers do not respond."""
        return self._listed("latest")

    def end(self, start: Position, most: int | None) -> Position:
        """The position behind the records that follow `start`, at most about `most` of them, taken from all partitions
        in proportion. TopicChangedError if the topic has been deleted and created again, or has lost records."""
        latest = self._latest_after(start)
        begins = {name: start["offsets"].get(name, 0) for name in latest["offsets"]}
        waiting = {name: max(end - begins[name], 0) for name, end in latest["offsets"].items()}
        total = sum(waiting.values())
        if most is not None and total > most:
            waiting = {name: -(-count * most // total) for name, count in waiting.items()}
        return {"id": latest["id"], "offsets": {name: begins[name] + count for name, count in waiting.items()}}

    def _latest_after(self, start: Position) -> Position:
        """The latest position. A leader may need a moment until it knows it."""
        deadline = time.monotonic() + self._patience
        while True:
            latest = self.latest()
            self._check_id(start, latest)
            lost = [name for name, end in latest["offsets"].items() if end < start["offsets"].get(name, 0)]
            if not lost:
                return latest
            if time.monotonic() > deadline:
                partition = min(lost, key=int)
                raise TopicChangedError(
                    f"Partition {partition} of topic {self._topic} ends at offset {latest['offsets'][partition]}, but "
                    f"was read up to {start['offsets'][partition]}: it has lost records, as after an unclean leader "
                    "election. Reset the offset of the connector to start over"
                )
            time.sleep(_RETRY)

    def ranges(self, start: Position, end: Position) -> list[RecordRange]:
        """What is between two positions, without empty ranges; of a partition without a start, all records.
        TopicChangedError if the topic is not the one of the positions, such as those of a batch that was planned before
        it was deleted."""
        self._check_id(start, end)
        self._check_id(end, self.latest())
        begins = start["offsets"]
        return [
            RecordRange(self._topic, int(name), begins.get(name, 0), offset)
            for name, offset in sorted(end["offsets"].items(), key=lambda item: int(item[0]))
            if begins.get(name, 0) < offset
        ]

    def _check_id(self, start: Position, end: Position) -> None:
        if start["id"] != end["id"]:
            raise TopicChangedError(
                f"Topic {self._topic} has been deleted and created again: its records do not follow those that were "
                "read. Reset the offset of the connector to start over"
            )

    def _listed(self, which: str) -> Position:
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _LEADER_CHANGE
        while True:
            try:
                return self._request(which)
            except KafkaException as error:
                if not is_transient(error.args[0]) or time.monotonic() > deadline:
                    reason = f"The offsets of topic {self._topic} cannot be read: {_text(error)}"
                    raise TopicsUnreachableError(reason) from None
            time.sleep(_RETRY)

    def _request(self, which: str) -> Position:
        from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition

        with self._admin.use() as admin:
            described = admin.describe_topics(TopicCollection([self._topic]), request_timeout=_TIMEOUT)
            description = described[self._topic].result()
            spec = listed_offsets.offset_spec(which)
            asked = {TopicPartition(self._topic, partition.id): spec for partition in description.partitions}
            listed = listed_offsets.list_offsets(admin, asked, _TIMEOUT, IsolationLevel.READ_COMMITTED)
            offsets = {str(at.partition): listed_offsets.listed_offset(work.result()) for at, work in listed.items()}
        return {"id": str(description.topic_id), "offsets": offsets}


def missing_topics(settings: Mapping[str, Any], names: Sequence[str]) -> Collection[str]:
    """Those of the topics that do not exist. `settings` of an admin client. TopicsUnreachableError if no broker
    responds."""
    from confluent_kafka import KafkaException

    with open_clients.admin_client(settings) as admin:
        try:
            known = admin.list_topics(timeout=_CHECK_TIMEOUT).topics
        except KafkaException as error:
            raise TopicsUnreachableError(f"The brokers cannot be reached: {_text(error)}") from None
    return [name for name in names if name not in known]


def record_batches(settings: Mapping[str, Any], records: RecordRange, schema: Any) -> Iterator[Any]:
    """The records of a range as Arrow batches of a schema with the columns key, value, topic, partition, offset,
    timestamp and headers. `settings` of the consumer. TopicChangedError if the topic no longer has its first record."""
    import pyarrow as pa
    from confluent_kafka import TopicPartition

    reading = {
        **_AHEAD, **settings, "group.id": "headrace-query", "isolation.level": "read_committed",
        "enable.partition.eof": True, "auto.offset.reset": "error", "allow.auto.create.topics": False,
    }  # fmt: skip
    with open_clients.consumer(reading) as consumer:
        consumer.assign([TopicPartition(records.topic, records.partition, records.start)])
        at_end, moved, position = False, time.monotonic(), records.start
        while not at_end:
            messages: list[Any] = []
            # It waits until it has as many, although some of these offsets may be of markers or of compacted records
            polled: list[Any] = consumer.consume(min(_ROWS, max(records.end - position, 1)), _WAIT)
            for message in polled:
                at_end = at_end or _is_end(message, records)
                if message.error() is None and message.offset() < records.end:
                    messages.append(message)
            if messages:
                moved, position = time.monotonic(), messages[-1].offset() + 1
                yield pa.RecordBatch.from_arrays(_columns(messages, schema), schema=schema)
            elif not at_end and time.monotonic() - moved > _STALLED:
                raise TopicsUnreachableError(
                    f"No records of {records.topic}-{records.partition} from offset {records.start} for {_STALLED:g} s"
                )


def _is_end(message: Any, records: RecordRange) -> bool:
    """Whether no record of the range follows this record or event: the last offsets of the range may be markers of
    transactions, or gaps that compaction has left. Raises for an error that ends the reading."""
    from confluent_kafka import KafkaError

    if message.error() is None:
        return bool(message.offset() >= records.end - 1)
    code = message.error().code()
    if code == KafkaError._PARTITION_EOF:
        return bool(message.offset() >= records.end)
    if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        raise TopicChangedError(
            f"The records of {records.topic}-{records.partition} from offset {records.start} have been removed from "
            "the topic. Reset the offset of the connector to start over with those that are left"
        )
    if message.error().fatal() or code in (
        KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
    ):  # fmt: skip
        raise TopicsUnreachableError(f"Topic {records.topic} cannot be read: {message.error().str()}")
    return False


def _columns(messages: Sequence[Any], schema: Any) -> list[Any]:
    import pyarrow as pa

    columns = (
        [message.key() for message in messages],
        [message.value() for message in messages],
        [message.topic() for message in messages],
        [message.partition() for message in messages],
        [message.offset() for message in messages],
        [milliseconds * 1000 if kind else None for kind, milliseconds in (m.timestamp() for m in messages)],
        [[{"key": name, "value": data} for name, data in message.headers() or ()] for message in messages],
    )
    return [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]


def _text(error: Any) -> str:
    return str(error.args[0].str() if error.args and hasattr(error.args[0], "str") else error)
