"""The config topic: configurations and target states of connectors, in Apache Connect's own records (FACTS.md, 7)."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.kafka.formats import compact, java_ordered
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.model.states import TargetState
from runtime.storage.port import LogOpener, MalformedRecord, json_object, log_skipped
from runtime.system.loop_turns import LoopTurns

_log = logging.getLogger(__name__)

_CONNECTOR, _TARGET, _TASK, _COMMIT = "connector-", "target-state-", "task-", "commit-"
_FENCING, _RESTART, _SESSION_KEY, _LOGGER = "tasks-fencing-", "restart-connector-", "session-key", "logger-cluster-"

_KEEPS_TASKS = "headrace.keeps.tasks"
"""Field of the record of a connector or of its target state: the task configs before the record are still those of the
connector. Compaction may remove the connector's earlier records, so that these task configs look like those of a
deleted connector."""

_TOMBSTONES = 500  # of deleted connectors' task configs that are written at once, beside those of the last connector

LIVE = ("headrace.rate.", "headrace.restart.")
"""Prefixes of keys that take effect while connector and tasks run: a change of them restarts nothing."""


@dataclass(frozen=True, slots=True)
class StoredConnector:
    """An immutable snapshot of a connector as stored in the config topic."""

    name: str
    config: dict[str, str]
    target: TargetState
    tasks: tuple[dict[str, str], ...]  # the configs of the last complete set; none while STOPPED
    inconsistent: bool = False  # compaction left an incomplete set: the connector must generate its task configs again
    applied: dict[str, str] | None = None  # the config from which `tasks` were generated; None if unknown
    generation: int = -1  # of the task configs, the same on all workers: the offset of their commit record; -1: none
    created: int = -1  # identifies the connector in this process: a deleted one of the same name had another number
    revision: int = -1  # of the config, the same on all workers: the offset of its record
    stopped: int = -1  # identifies the last stop in this process, in which the connector may be running again

    @property
    def start_config(self) -> dict[str, str]:
        """The config with which connector and tasks are started, without the keys that take effect while they run."""
        return without_live_keys(self.config)

    @property
    def is_applied(self) -> bool:
        """Whether `tasks` were generated from the config, as far as known."""
        return self.applied is None or without_live_keys(self.applied) == self.start_config


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """A restart requested through any worker of the cluster (KIP-745)."""

    name: str
    include_tasks: bool
    only_failed: bool


class TaskConfigsChanged(Exception):
    """The task configs of a connector changed before a record about them was written."""


@dataclass(slots=True)
class _Entry:
    """The records read so far for one connector name; they arrive in any order."""

    config: dict[str, str] | None = None
    target: TargetState | None = None
    tasks: tuple[dict[str, str], ...] = ()
    orphaned: bool = False  # `tasks` were committed without a connector: they are those of a deleted one
    inconsistent: bool = False
    applied: dict[str, str] | None = None
    generation: int = -1
    created: int = -1
    revision: int = -1
    uncommitted: dict[int, dict[str, str]] = field(default_factory=dict)
    snapshot: StoredConnector | None = None
    stopped: int = -1
    target_written: int | None = None  # when the target state was written, in milliseconds since 1970

    @property
    def empty(self) -> bool:
        """Whether nothing is stored, because the connector has been deleted."""
        return self.config is None and self.target is None and not self.tasks and not self.uncommitted


KeepConfig = Callable[[str, Mapping[str, str] | None, Mapping[str, str] | None, str], Awaitable[None]]


class ConfigStore:
    """Reads and writes the config topic. Event loop only; every write is applied before it returns."""

    def __init__(
        self, logs: LogOpener, spec: TopicSpec, leader: TransactionalWriter | None = None, mixed: bool = False
    ) -> None:
        """`leader` writes the records that only the leader of the group may write, so that a former leader cannot write
        them (KIP-618); without it a leader writes like any other worker. `mixed`: Apache's workers read the topic,
        too."""
        self._log, self._leader, self._mixed = logs.open(spec, self.apply), leader, mixed
        self._entries: dict[str, _Entry] = {}
        self._task_numbers: dict[str, set[int]] = {}  # of task configs, also those to remove
        self._unfenced: set[str] = set()
        self._task_writes: Counter[str] = Counter()  # sets of task configs that are being written, by connector
        self._on_change: Callable[[str], None] = lambda name: None
        self._on_config: Callable[[str], None] = lambda name: None
        self._on_restart: Callable[[RestartRequest], None] = lambda request: None
        self._on_logger_level: Callable[[str, str], None] = lambda namespace, level: None
        self._on_session_key: Callable[[Mapping[str, Any] | None], None] = lambda key: None
        self._check: Callable[[], None] = lambda: None
        self._keep: KeepConfig | None = None
        self.session_key: Mapping[str, Any] | None = None
        """The record of the key with which workers sign their requests to each other (KIP-507)."""
        self.fencing_counts: dict[str, int] = {}
        """How many tasks of an exactly-once source may have run, by connector; kept when a connector is deleted."""
        self.offset = 0
        """The offset after the last record applied (Connect's config offset)."""

    def subscribe(
        self,
        *,
        changes: Callable[[str], None] | None = None,
        configs: Callable[[str], None] | None = None,
        restarts: Callable[[RestartRequest], None] | None = None,
        logger_levels: Callable[[str, str], None] | None = None,
        session_keys: Callable[[Mapping[str, Any] | None], None] | None = None,
    ) -> None:
        """Call these functions for records applied from now on: `changes` with the connector's name, and then `configs`
        if its configuration is among them, `logger_levels` with logger and level, `session_keys` with the record's
        value. Subscribers need the store themselves, so they cannot be constructor arguments."""
        self._on_change = changes or self._on_change
        self._on_config = configs or self._on_config
        self._on_restart = restarts or self._on_restart
        self._on_logger_level = logger_levels or self._on_logger_level
        self._on_session_key = session_keys or self._on_session_key

    def guard(self, check: Callable[[], None]) -> None:
        """Call this function directly before each write of a leader; it raises if this worker does not lead. Much
        time may pass between a request's own check and its write, for example for a validation."""
        self._check = check

    def keep(self, keep: KeepConfig) -> None:
        """Await this function before each change of a config, with the connector's name, its config before and after
        (None if it does not exist), and its target state before."""
        self._keep = keep

    # reading

    def names(self) -> list[str]:
        """All connectors that have a configuration."""
        return [name for name, entry in self._entries.items() if entry.config is not None]

    def config(self, name: str) -> Mapping[str, str] | None:
        """The configuration of a connector; None if it does not exist."""
        stored = self.connector(name)
        return None if stored is None else stored.config

    def connector(self, name: str) -> StoredConnector | None:
        """The connector as stored now; None if it does not exist."""
        entry = self._entries.get(name)
        if entry is None or entry.config is None:
            return None
        if entry.snapshot is None:
            target = entry.target or TargetState.STARTED
            # While STOPPED a connector has no tasks, even if its last task configs were written at the same time.
            tasks = () if target is TargetState.STOPPED or entry.orphaned else entry.tasks
            inconsistent = entry.inconsistent and not entry.orphaned
            entry.snapshot = StoredConnector(
                name, entry.config, target, tasks, inconsistent, entry.applied, entry.generation, entry.created,
                entry.revision, entry.stopped,
            )  # fmt: skip
        return entry.snapshot

    def target_written(self, name: str) -> int | None:
        """When the target state of a connector was written, in milliseconds since 1970; None if never."""
        entry = self._entries.get(name)
        return None if entry is None else entry.target_written

    def pending_fencing(self, name: str) -> bool:
        """Whether task configs were written after the last task count: earlier tasks must be fenced before tasks of an
        exactly-once source start (KIP-618)."""
        return name in self._unfenced

    async def read_to_end(self) -> None:
        """Apply every record that is in the topic now. BrokerUnavailable if Kafka does not answer."""
        await self._log.read_to_end()

    def forget_deleted(self) -> None:
        """Drop the task configs without a connector from memory. Call only after the topic has been read: after
        compaction, a connector's own record may follow those of its tasks."""
        for name in [n for n, entry in self._entries.items() if entry.config is None and entry.target is None]:
            del self._entries[name]

    # writing

    async def put_connector(self, name: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Store a configuration. An initial target state is written first, so that it applies from the first start."""
        await self._keep_past(name, config)
        first = self._target_first(name, target)
        before = self.connector(name)
        # While the connector runs, new task configs follow any other change, with a commit record behind this one.
        follow = before is not None and before.target is TargetState.STARTED
        unchanged = before is not None and before.start_config == without_live_keys(dict(config))
        keeps = before is not None and before.tasks and (unchanged or not follow)
        value = {"properties": dict(config), **({_KEEPS_TASKS: True} if keeps else {})}
        await self._lead([*first, _record(_CONNECTOR + name, value)])

    def _target_first(self, name: str, target: TargetState | None) -> list[tuple[bytes, bytes | None]]:
        if target is not None:
            return [_target_record(name, target)]
        entry = self._entries.get(name)
        orphaned = entry is not None and entry.config is None and entry.target is not None
        # A worker died between the two records of a creation or deletion: the target state belongs to no connector.
        return [(_key(_TARGET + name), None)] if orphaned else []

    async def remove_connector(self, name: str) -> None:
        """Delete a connector's configuration and target state, as Connect does; see remove_remains()."""
        await self._keep_past(name, None)
        await self._lead([(_key(_CONNECTOR + name), None), (_key(_TARGET + name), None)])

    async def remove_remains(self) -> None:
        """Remove the task configs of deleted connectors, which would otherwise stay in the topic for ever. Call only
        after the topic has been read.

        In a mixed group the configs of single tasks remain, without the commit record that would apply them: for each
        of their tombstones Apache's workers would log an error."""
        names = iter(list(self._task_numbers))
        while keys := self._next_remains(names):
            await self._lead([(_key(key), None) for key in keys])

    def _next_remains(self, names: Iterator[str]) -> list[str]:
        """The keys of the task configs of the next deleted connectors among these."""
        keys: list[str] = []
        while len(keys) < _TOMBSTONES and (name := next(names, None)) is not None:
            if not self._exists(name):
                tasks = () if self._mixed else sorted(self._task_numbers.get(name, ()))
                keys += [_COMMIT + name, *(f"{_TASK}{name}-{number}" for number in tasks)]
        return keys

    async def _keep_past(self, name: str, after: Mapping[str, str] | None) -> None:
        if self._keep is not None:
            self._check()
            before = self.connector(name)
            config, state = (None, "") if before is None else (before.config, before.target.value)
            await self._keep(name, config, None if after is None else dict(after), state)

    async def put_target_state(self, name: str, target: TargetState) -> None:
        """Store the target state of a connector. Not in a transaction, as in Connect.

        No task configs follow the last change of a connector that is paused: either all workers keep the earlier ones,
        or, if this worker takes them for those of a deleted connector, none does."""
        self._check()
        entry, stored = self._entries.get(name), self.connector(name)
        keeps = False
        if target is TargetState.PAUSED and entry is not None and stored is not None:
            if entry.orphaned and entry.tasks:
                await self.put_tasks(name, [])
            keeps = bool(stored.tasks) and (stored.applied is None or not stored.is_applied)
        await self._log.write_all([_target_record(name, target, keeps)])

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Store a complete set of task configs; readers apply the set when its commit record arrives."""
        self._task_writes[name] += 1
        try:
            turns, tasks = LoopTurns(), []
            for i, config in enumerate(configs):
                await turns.next()
                tasks.append(_record(f"{_TASK}{name}-{i}", {"properties": dict(config)}))
            await self._lead([*tasks, _record(_COMMIT + name, {"tasks": len(configs)})])
        finally:
            self._task_writes -= Counter([name])  # drops names without writes

    async def put_fencing_count(self, stored: StoredConnector) -> None:
        """Store that earlier tasks of an exactly-once source have been fenced, and how many tasks may run now
        (KIP-618). TaskConfigsChanged if the connector does not have these task configs any more."""
        now = self.connector(stored.name)
        if now is None or now.tasks is not stored.tasks or self._task_writes[stored.name]:
            raise TaskConfigsChanged
        await self._lead([_record(_FENCING + stored.name, {"task-count": len(stored.tasks)})])

    async def put_session_key(self, value: Mapping[str, Any]) -> None:
        """Store a new session key (KIP-507)."""
        await self._lead([_record(_SESSION_KEY, value)])

    async def put_logger_level(self, namespace: str, level: str) -> None:
        """Request that every worker of the cluster sets a logger's level (KIP-976). Any worker may write the record, as
        in Connect."""
        await self._log.write_all([_record(_LOGGER + namespace, {"level": level})])

    async def put_restart(self, name: str, include_tasks: bool, only_failed: bool) -> None:
        """Request the restart of a connector and its tasks from the workers that run them (KIP-745)."""
        value = {"include-tasks": include_tasks, "only-failed": only_failed}
        await self._lead([_record(_RESTART + name, value)])

    async def _lead(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write as the leader of the group. WriterFenced if another worker has taken over the leadership."""
        self._check()
        await self._log.write_all(records, self._leader)

    # records

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Apply records of the topic in order; malformed records are logged and skipped."""
        changed: dict[str, bool] = {}  # whether the configuration is among the changes
        for record in records:
            try:
                name = self._apply(record)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)
                continue
            if name is not None:
                is_config = self._changed(name, record)
                changed[name] = is_config or changed.get(name, False)
        if records:
            self.offset = records[-1].offset + 1
        for name, is_config in changed.items():
            self._on_change(name)
            if is_config:
                self._on_config(name)

    def _changed(self, name: str, record: LogRecord) -> bool:
        """Whether the record is a configuration."""
        entry, key = self._entries[name], record.key or b""
        entry.snapshot = None
        if key.startswith(_TARGET.encode()):
            entry.target_written = record.timestamp
            if entry.target is TargetState.STOPPED:
                entry.stopped = record.offset
        elif key.startswith(_COMMIT.encode()):
            entry.generation = record.offset
        elif key.startswith(_CONNECTOR.encode()) and entry.config is not None:
            entry.revision = record.offset
            if entry.created < 0:
                entry.created = record.offset
        if entry.empty:
            del self._entries[name]
            if name not in self.fencing_counts:  # it has never run exactly once
                self._unfenced.discard(name)
        return entry.revision == record.offset

    def _apply(self, record: LogRecord) -> str | None:
        """The connector that the record changed, if any."""
        key = (record.key or b"").decode(errors="replace")
        value = json_object(record.value)
        for prefix, handle in self._HANDLERS.items():
            if key.startswith(prefix) and (len(key) > len(prefix) or prefix == _SESSION_KEY):
                return handle(self, key[len(prefix) :], value)
        raise MalformedRecord(f"unknown key {key!r}")

    def _exists(self, name: str) -> bool:
        return self.connector(name) is not None

    def _entry(self, name: str) -> _Entry:
        return self._entries.setdefault(name, _Entry())

    def _take_connector(self, name: str, value: dict[str, Any] | None) -> str:
        """Task configs that were committed without a connector are those of a deleted one (KAFKA-16838), unless a
        record says that the connector keeps them: the first one after compaction may be a change without effect."""
        entry = self._entry(name)
        if value is None:
            self._entries[name] = _Entry(target=entry.target)
            return name
        config, keeps = _properties(value), value.get(_KEEPS_TASKS) is True
        if keeps or entry.config is None:
            entry.orphaned = not keeps
        entry.config = config
        return name

    def _take_target(self, name: str, value: dict[str, Any] | None) -> str:
        entry = self._entry(name)
        entry.target = None if value is None else _target(value)
        if value is not None and value.get(_KEEPS_TASKS) is True:
            entry.orphaned = False
        return name

    def _take_task(self, rest: str, value: dict[str, Any] | None) -> None:
        name, dash, number = rest.rpartition("-")
        if not dash or not number.isascii() or not number.isdigit() or (value is None and self._exists(name)):
            raise MalformedRecord("not a task's config")
        numbers = self._task_numbers.setdefault(name, set())
        if value is not None:
            self._entry(name).uncommitted[int(number)] = _properties(value)
            numbers.add(int(number))
            return
        numbers.discard(int(number))
        if not numbers:
            del self._task_numbers[name]

    def _take_commit(self, name: str, value: dict[str, Any] | None) -> str:
        if value is None and not self._exists(name):
            entry = self._entry(name)
            entry.tasks, entry.inconsistent, entry.uncommitted = (), False, {}
            if self._mixed:
                self._task_numbers.pop(name, None)  # those configs remain
            return name
        count = _integer(value, "tasks")
        entry = self._entry(name)
        configs, entry.uncommitted = entry.uncommitted, {}
        entry.inconsistent = not all(i in configs for i in range(count))
        entry.tasks = () if entry.inconsistent else tuple(configs[i] for i in range(count))
        entry.applied, entry.orphaned = entry.config, False
        self._unfenced.add(name)
        return name

    def _take_fencing(self, name: str, value: dict[str, Any] | None) -> None:
        self.fencing_counts[name] = _integer(value, "task-count")
        self._unfenced.discard(name)

    def _take_restart(self, name: str, value: dict[str, Any] | None) -> None:
        if value is not None:
            self._on_restart(RestartRequest(name, value.get("include-tasks") is True, value.get("only-failed") is True))

    def _take_session_key(self, rest: str, value: dict[str, Any] | None) -> None:
        self.session_key = value
        self._on_session_key(value)

    def _take_logger(self, namespace: str, value: dict[str, Any] | None) -> None:
        if value is not None:
            self._on_logger_level(namespace, str(value.get("level")))

    _HANDLERS: Mapping[str, Callable[[ConfigStore, str, dict[str, Any] | None], str | None]] = {
        _CONNECTOR: _take_connector,
        _TARGET: _take_target,
        _FENCING: _take_fencing,
        _TASK: _take_task,
        _COMMIT: _take_commit,
        _RESTART: _take_restart,
        _SESSION_KEY: _take_session_key,
        _LOGGER: _take_logger,
    }


def without_live_keys(config: dict[str, str]) -> dict[str, str]:
    """The configuration without the keys that take effect while connector and tasks run."""
    if not any(key.startswith(LIVE) for key in config):
        return config
    return {key: text for key, text in config.items() if not key.startswith(LIVE)}


def _key(text: str) -> bytes:
    return text.encode()


def _record(key: str, value: object) -> tuple[bytes, bytes]:
    return _key(key), compact(value)


def _target_record(name: str, target: TargetState, keeps_tasks: bool = False) -> tuple[bytes, bytes]:
    """Workers before Kafka 3.5 do not support STOPPED and read PAUSED instead (KIP-875)."""
    old = TargetState.PAUSED if target is TargetState.STOPPED else target
    kept = {_KEEPS_TASKS: True} if keeps_tasks else {}
    return _record(_TARGET + name, {"state": old.value, "state.v2": target.value, **kept})


def _target(value: Mapping[str, Any]) -> TargetState:
    try:
        return TargetState(value.get("state.v2", value.get("state")))
    except ValueError as e:
        raise MalformedRecord(str(e)) from None


def _properties(value: Mapping[str, Any]) -> dict[str, str]:
    """The configuration in the order in which Apache's worker returns properties that it has read from the topic."""
    properties = value.get("properties")
    if not isinstance(properties, dict):
        raise MalformedRecord("no properties")
    read = {k: v if isinstance(v, str) else compact(v).decode() for k, v in properties.items() if v is not None}
    ordered: dict[str, str] = java_ordered(read)
    return ordered


def _integer(value: Mapping[str, Any] | None, key: str) -> int:
    number = None if value is None else value.get(key)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise MalformedRecord(f"{key} is not a valid number of tasks")
    return number
