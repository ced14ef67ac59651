"""The status topic: states of connectors and tasks and the topics that they use, in Apache Connect's own records
(FACTS.md, 7)."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.kafka.errors import RecordTooLarge, StorageTopicError
from runtime.kafka.formats import compact
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.model.states import State, TaskId
from runtime.storage.optimistic import OptimisticWrites
from runtime.storage.port import LogOpener, MalformedRecord, json_object, log_skipped

_log = logging.getLogger(__name__)

RETRY_DELAY = 1.0
"""Seconds between two checks whether this worker is a group member again."""

REFUSED_DELAY = 10
"""Times RETRY_DELAY until a status is written again that Kafka has refused."""

_K = TypeVar("_K")
_V = TypeVar("_V")
_CONNECTOR, _TASK, _TOPIC, _OF = "status-connector-", "status-task-", "status-topic-", ":connector-"


@dataclass(frozen=True, slots=True)
class StatusRecord:
    """The state of a connector or task, as in its record."""

    state: State
    trace: str | None
    worker_id: str
    generation: int
    version: str | None = None  # of the plugin


class StatusStore:
    """Reads and writes the status topic. Event loop only.

    Writes are visible at once and sent without waiting; until a write is confirmed, records read from the topic do not
    override it. While this worker's membership is not confirmed, another worker may be writing, so nothing is sent. A
    write that Kafka refuses is repeated: otherwise other workers would show an earlier state until the next one."""

    def __init__(
        self,
        logs: LogOpener,
        spec: TopicSpec,
        clock: Callable[[], float] = time.time,
        is_member: Callable[[], bool] = lambda: True,
        retry_delay: float = RETRY_DELAY,
    ) -> None:
        self._log = logs.open(spec, self.apply)
        self._writes = OptimisticWrites(self._log.send, self._take, self.apply, self._refused)
        self._clock, self._is_member, self._retry_delay = clock, is_member, retry_delay
        self._unsent: dict[bytes, bytes | None] = {}  # written while this worker was not a member, or refused
        self._connectors: dict[str, StatusRecord] = {}
        self._tasks: dict[str, dict[int, StatusRecord]] = {}
        self._topics: dict[str, dict[str, int]] = {}  # by connector: each topic with the task that reported it
        self._numbers = itertools.count(1)
        self._changes: dict[str, int] = {}  # by connector with a status: the number of its last change
        self._changed_at: dict[str, int] = {}  # by connector, in milliseconds since 1970
        self._record_time: int | None = None  # of the record that is being applied
        self._loaded: dict[bytes, tuple[int, int]] | None = {}  # until subscribe(): each key's partition and time
        self._touched: dict[str, bool] = {}  # by other workers: connectors, and whether they were removed
        self._writing = False  # what changes now is this worker's own write
        self._topics_reset: dict[str, int] = {}  # by other workers: connectors, and when, in milliseconds
        self._on_change: Callable[[str, bool], None] = lambda name, removed: None
        self._on_topics_reset: Callable[[str, int], None] = lambda name, at: None

    def subscribe(self, on_change: Callable[[str, bool], None], on_topics_reset: Callable[[str, int], None]) -> None:
        """Call these functions when records of other workers are read. `on_change`: statuses of a connector or its
        tasks, with the connector's name, and whether the connector's own status was removed, because it has been
        deleted. `on_topics_reset`: topics of a connector were removed at a time (milliseconds since 1970), so that its
        tasks have to report them again."""
        self._on_change, self._on_topics_reset = on_change, on_topics_reset
        self._loaded = None

    # reading

    def connectors(self) -> list[str]:
        """Connectors that have a status, or topics, or whose tasks have a status."""
        return list({**self._connectors, **self._tasks, **self._topics})

    def connector_status(self, name: str) -> StatusRecord | None:
        """The status of a connector, if any."""
        return self._connectors.get(name)

    def task_status(self, task: TaskId) -> StatusRecord | None:
        """The status of a task, if any."""
        return self._tasks.get(task.connector, {}).get(task.task)

    def task_statuses(self, name: str) -> dict[int, StatusRecord]:
        """A copy of the statuses of a connector's tasks, by task number."""
        return dict(self._tasks.get(name, {}))

    def changes(self, name: str) -> int:
        """A number that differs after each change to the statuses of a connector and its tasks, to check whether a view
        is current; 0 without a status."""
        return self._changes.get(name, 0)

    def changed_at(self, name: str) -> int | None:
        """When the state of a connector or of one of its tasks has last changed, in milliseconds since 1970."""
        return self._changed_at.get(name)

    def topics(self, name: str) -> list[str]:
        """Topics that a connector has used since it was created or its topics were reset (KIP-558)."""
        return list(self._topics.get(name, {}))

    async def read_back(self, name: str, within: float) -> None:
        """Wait until what this worker has written about a connector is in the topic; at most `within` seconds."""
        tasks = (f"{_TASK}{TaskId(name, number)}" for number in self._tasks.get(name, {}))
        topics = (_topic_key(topic, name) for topic in self._topics.get(name, {}))
        await self._read_back((_CONNECTOR + name, *tasks, *topics), within)

    # writing

    def put_connector(self, name: str, status: StatusRecord) -> None:
        """Store a connector's status, unless a later worker has taken over the connector."""
        if not _superseded(status, self._connectors.get(name)):
            self._put(_CONNECTOR + name, _value(status))

    def put_task(self, task: TaskId, status: StatusRecord) -> None:
        """Store a task's status, unless a later worker has taken over the task."""
        if not _superseded(status, self.task_status(task)):
            self._put(f"{_TASK}{task}", _value(status))

    def put_topic(self, task: TaskId, topic: str) -> None:
        """Record that a task has used a topic."""
        record = {"name": topic, "connector": task.connector, "task": task.task}
        self._put(
            _topic_key(topic, task.connector), {"topic": {**record, "discoverTimestamp": int(self._clock() * 1000)}}
        )

    def remove_connector(self, name: str) -> None:
        self._put(_CONNECTOR + name, None)

    def remove_task(self, task: TaskId) -> None:
        self._put(f"{_TASK}{task}", None)

    def remove_topics(self, name: str) -> list[str]:
        """Remove all topics of a connector; returns the keys of their records."""
        keys = [_topic_key(topic, name) for topic in self._topics.get(name, {})]
        for key in keys:
            self._put(key, None)
        return keys

    async def reset_topics(self, name: str, within: float) -> int:
        """Remove all topics of a connector, and wait until that is in the topic; at most `within` seconds. Returns
        the time of the reset, in milliseconds since 1970."""
        at = self._time()
        await self._read_back(self.remove_topics(name), within)
        return at

    async def _read_back(self, keys: Iterable[str], within: float) -> None:
        await self._writes.read_back([key.encode() for key in keys], within)

    def _put(self, key: str, value: dict[str, Any] | None) -> None:
        self._writing = True
        try:
            self._write(key, value)
        finally:
            self._writing = False

    def _write(self, key: str, value: dict[str, Any] | None) -> None:
        raw_key, raw_value = key.encode(), None if value is None else compact(value)
        if self._is_member():
            self._unsent.pop(raw_key, None)
            self._writes.write(raw_key, raw_value)
        else:
            self._send_later(raw_key, raw_value, self._retry_delay)
            self._take(raw_key, raw_value)

    def _refused(self, raw_key: bytes, raw_value: bytes | None, error: BaseException) -> None:
        """The producer has failed and is replaced, its queue was full, or a right is missing. The log has the error. A
        status that already waits is a later one: it was written when this worker was no longer a member."""
        if raw_key not in self._unsent and not isinstance(error, RecordTooLarge | StorageTopicError):
            self._send_later(raw_key, raw_value, REFUSED_DELAY * self._retry_delay)

    def _send_later(self, raw_key: bytes, raw_value: bytes | None, delay: float) -> None:
        if not self._unsent:
            asyncio.get_running_loop().call_later(delay, self._send_unsent)
        self._unsent[raw_key] = raw_value

    def _send_unsent(self) -> None:
        """Send statuses that are not in the topic, unless other workers have written since."""
        if not self._unsent:
            return
        if not self._is_member():
            asyncio.get_running_loop().call_later(self._retry_delay, self._send_unsent)
            return
        unsent, self._unsent = self._unsent, {}
        for key, value in unsent.items():
            self._writes.write(key, value)

    # records

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Apply records of the topic in order; malformed records are logged and skipped."""
        for record in records:
            if self._writes.superseded(record) or self._is_older(record):
                continue
            self._unsent.pop(record.key or b"", None)
            self._record_time = record.timestamp
            try:
                self._take(record.key or b"", record.value)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)
            finally:
                self._record_time = None
        touched, self._touched = self._touched, {}
        for name, removed in touched.items():
            self._on_change(name, removed)
        reset, self._topics_reset = self._topics_reset, {}
        for name, at in reset.items():
            self._on_topics_reset(name, at)

    def _is_older(self, record: LogRecord) -> bool:
        """Whether a later record of the key has been read from another partition: keys move when partitions are added
        to the topic, and the first reading of the topic may read the partitions in any order."""
        if self._loaded is None:
            return False
        key = record.key or b""
        partition, time_read = self._loaded.get(key, (record.partition, 0))
        if partition != record.partition and record.timestamp < time_read:
            return True
        self._loaded[key] = record.partition, record.timestamp
        return False

    def _take(self, raw_key: bytes, raw_value: bytes | None) -> None:
        key, value = raw_key.decode(errors="replace"), json_object(raw_value)
        if key.startswith(_CONNECTOR):
            name, status = key[len(_CONNECTOR) :], None if value is None else _status(value)
            if status != self._connectors.get(name) and not self._writing:
                self._touched[name] = status is None
            self._note_change(name, self._connectors.get(name), status)
            if status is None:
                self._changed_at.pop(name, None)
            _set(self._connectors, name, status)
            self._number(name)
        elif key.startswith(_TASK):
            self._take_task(key[len(_TASK) :], value)
        elif key.startswith(_TOPIC):
            self._take_topic(key[len(_TOPIC) :], value)
        else:
            raise MalformedRecord(f"unknown key {key!r}")

    def _take_task(self, rest: str, value: dict[str, Any] | None) -> None:
        name, dash, number = rest.rpartition("-")
        if not dash or not number.isascii() or not number.isdigit():
            raise MalformedRecord("not a task's status")
        status = None if value is None else _status(value)
        if status != self._tasks.get(name, {}).get(int(number)) and not self._writing:
            self._touched.setdefault(name, False)
        self._note_change(name, self._tasks.get(name, {}).get(int(number)), status)
        _set_in(self._tasks, name, int(number), status)
        self._number(name)

    def _number(self, name: str) -> None:
        if name in self._connectors or name in self._tasks:
            self._changes[name] = next(self._numbers)
        else:  # deleted
            self._changes.pop(name, None)
            self._changed_at.pop(name, None)

    def _note_change(self, name: str, old: StatusRecord | None, new: StatusRecord | None) -> None:
        if new is not None and (old is None or old.state is not new.state):
            at = self._time()
            self._changed_at[name] = max(at, self._changed_at.get(name, at))

    def _time(self) -> int:
        """Of the record that is being applied, in milliseconds since 1970."""
        return int(self._clock() * 1000) if self._record_time is None else self._record_time

    def _take_topic(self, rest: str, value: dict[str, Any] | None) -> None:
        topic, separator, name = rest.partition(_OF)
        if not separator:
            raise MalformedRecord("not a topic's status")
        task = None
        if value is not None:
            task = value["topic"].get("task") if isinstance(value.get("topic"), dict) else None
            if not isinstance(task, int):
                raise MalformedRecord("not a topic's status")
        if task is None and not self._writing and topic in self._topics.get(name, {}):
            self._topics_reset[name] = self._time()
        _set_in(self._topics, name, topic, task)


def _superseded(status: StatusRecord, stored: StatusRecord | None) -> bool:
    """Whether a later worker has taken over the connector or task: a replaced worker must not report UNASSIGNED or
    FAILED. As putSafe() in Connect."""
    if stored is None or status.state not in (State.UNASSIGNED, State.FAILED):
        return False
    return stored.worker_id != status.worker_id and stored.generation > status.generation


def _topic_key(topic: str, connector: str) -> str:
    return f"{_TOPIC}{topic}{_OF}{connector}"


def _value(status: StatusRecord) -> dict[str, Any]:
    return {
        "state": status.state.value,
        "trace": status.trace,
        "worker_id": status.worker_id,
        "generation": status.generation,
        "version": status.version,
    }


def _status(value: dict[str, Any]) -> StatusRecord:
    """Workers before 4.0 wrote no version."""
    try:
        state = State(value["state"])
        generation = int(value["generation"])
        return StatusRecord(state, value.get("trace"), str(value["worker_id"]), generation, value.get("version"))
    except (KeyError, ValueError, TypeError):
        raise MalformedRecord("not a status") from None


def _set(entries: dict[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        entries.pop(key, None)
    else:
        entries[key] = value


def _set_in(entries: dict[str, dict[_K, _V]], name: str, key: _K, value: _V | None) -> None:
    _set(entries.setdefault(name, {}), key, value)
    if not entries[name]:
        del entries[name]
