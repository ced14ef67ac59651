"""Metrics of the worker in Prometheus' text format or as OpenMetrics: Apache Connect's names in snake case, and
Headrace's own, which follow the rules of promtool."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import runtime
from runtime.config.foreign_plugins import ClientPolicy, MonitoredPolicy
from runtime.engine.port import Engine
from runtime.herder.errors import NotFound
from runtime.herder.herder import Herder
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.herder.status.meter_board import FALLBACKS, PluginMetric, TaskMeter
from runtime.herder.status.status_board import StatusBoard
from runtime.kafka.group.protocol import CONNECTOR
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State, TaskId
from runtime.storage.configs import StoredConnector
from runtime.storage.statuses import StatusRecord, StatusStore


class ClusterStatus(Protocol):
    """The connection to the Kafka cluster."""

    @property
    def cluster_id(self) -> str:
        """The cluster id; empty until the cluster has answered."""

    @property
    def error(self) -> str:
        """The reason why the cluster cannot be reached; empty while the cluster answers."""


class EngineStatus(Protocol):
    """The engine, which runs the worker's tasks."""

    @property
    def trouble(self) -> str:
        """The reason why no task can run; empty while tasks can run."""


class MembershipStatus(Protocol):
    """The worker's membership in its group."""

    @property
    def trouble(self) -> str:
        """The reason why the membership is not confirmed; empty while it is confirmed."""


INTERNAL_TOPICS = "The worker is currently initializing and reading to the end of internal topics."
"""The first stage of a distributed worker, in Apache's words."""


@dataclass(slots=True)
class WorkerHealth:
    """`ready` once the worker serves requests; until then, `stage` is a sentence about its start, or empty, and
    `waiting_for` names the missing part."""

    cluster: ClusterStatus
    ready: bool = False
    waiting_for: str = "Kafka"
    stage: str = ""
    membership: MembershipStatus | None = None
    engine: EngineStatus | None = None

    @property
    def trouble(self) -> str | None:
        """The reason why the worker is not ready or not healthy; None if the worker is ready and healthy."""
        if self.cluster.error:
            return self.cluster.error
        trouble = self.membership.trouble if self.membership is not None else ""
        if self.ready:
            return trouble or None
        return f"waiting for {self.waiting_for}{f': {trouble}' if trouble else ''}"

    @property
    def tasks_trouble(self) -> str:
        """The reason why the worker cannot run tasks; empty if it can."""
        return self.engine.trouble if self.engine is not None else ""

    @property
    def root(self) -> dict[str, str | None]:
        """GET /."""
        commit = f"headrace-{runtime.__version__}"
        return {
            "version": runtime.CONNECT_VERSION,
            "commit": commit,
            "kafka_cluster_id": self.cluster.cluster_id or None,
        }


Labels = Mapping[str, object]

PREFIX = "kafka_connect_"
"""Prefix of Apache's metrics, as a JMX exporter names them; Headrace's own metrics start with `headrace_`."""


class MetricFamilies:
    """Collects samples, in any order."""

    def __init__(self) -> None:
        self._heads: dict[str, tuple[str, str]] = {}  # kind and help text
        self._samples: dict[str, list[str]] = {}

    def gauge(self, name: str, labels: Labels, value: float | None, help_text: str) -> None:
        """Add a value that rises and falls; None adds nothing."""
        self._add(name, "gauge", labels, value, help_text)

    def counter(self, name: str, labels: Labels, value: float | None, help_text: str) -> None:
        """Add a value that only rises until the worker ends; None adds nothing."""
        self._add(name, "counter", labels, value, help_text)

    def text(self) -> str:
        """All families in Prometheus' text format 0.0.4, in the order of their first samples."""
        return "".join(
            f"# HELP {name} {_escaped(text)}\n# TYPE {name} {kind}\n{''.join(self._samples[name])}"
            for name, (kind, text) in self._heads.items()
        )

    def open_metrics(self) -> str:
        """The same as OpenMetrics 1.0, where a counter has the suffix `_total`, which its family lacks. Apache's
        counters without it are of type unknown, so that their names are the same in both formats."""
        return "".join([*(self._open_metrics(name) for name in self._heads), "# EOF\n"])

    def _open_metrics(self, name: str) -> str:
        kind, text = self._heads[name]
        family = name
        if kind == "counter":
            family, kind = (name.removesuffix("_total"), kind) if name.endswith("_total") else (name, "unknown")
        samples = "".join(self._samples[name])
        return f"# HELP {family} {_quoted(text)}\n# TYPE {family} {kind}\n{samples}"

    def _add(self, short: str, kind: str, labels: Labels, value: float | None, help_text: str) -> None:
        if value is None:
            return
        name = short if short.startswith("headrace_") else PREFIX + short
        if name not in self._heads:
            self._heads[name] = kind, help_text
            self._samples[name] = []
        inner = ",".join(f'{key}="{_quoted(str(text))}"' for key, text in labels.items())
        self._samples[name].append(f"{name}{{{inner}}} {_number(value)}\n" if inner else f"{name} {_number(value)}\n")


def _number(value: float) -> str:
    if not math.isfinite(value):  # of a plugin's gauge
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else f"{value:.3f}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


CACHE_SECONDS = 1.0
"""Seconds for which all requests get the same values."""

_YIELD_EVERY = 100  # connectors after which other work of the event loop may run
_TASK_STATES = (State.RUNNING, State.PAUSED, State.FAILED, State.UNASSIGNED, State.RESTARTING)


class Metrics:
    """Collects the values on request from the boards; counts nothing itself. Event loop only."""

    def __init__(
        self, herder: Herder, statuses: StatusStore, board: StatusBoard, engine: Engine, stalls: Stalls,
        restarts: AutoRestarts, policy: ClientPolicy | None, limit_of: Callable[[str], RateLimit],
        ready: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._herder, self._statuses, self._board = herder, statuses, board
        self._engine, self._stalls, self._restarts, self._ready = engine, stalls, restarts, ready
        self._policy, self._limit_of = policy, limit_of
        self._made = float("-inf")
        self._making: asyncio.Task[MetricFamilies] | None = None

    async def families(self) -> MetricFamilies:
        if self._making is None or (self._making.done() and time.monotonic() - self._made > CACHE_SECONDS):
            self._making = asyncio.create_task(self._make())
        return await asyncio.shield(self._making)

    async def _make(self) -> MetricFamilies:
        families = MetricFamilies()
        names = self._herder.connectors()
        self._worker(families, len(names))
        for i, name in enumerate(names):
            if i % _YIELD_EVERY == _YIELD_EVERY - 1:
                await asyncio.sleep(0)
            with contextlib.suppress(NotFound):  # deleted meanwhile
                stored = self._herder.stored(name)
                self._connector(families, stored, await self._herder.type(stored.config))
        self._made = time.monotonic()
        return families

    def _worker(self, f: MetricFamilies, connectors: int) -> None:
        slots = self._engine.slots
        f.gauge("headrace_worker_ready", {}, self._ready(), "Whether the worker serves all requests.")
        f.gauge("worker_metrics_connector_count", {}, connectors, "Connectors run in this worker.")
        tasks = sum(len(slot.tasks) for slot in slots)
        f.gauge("worker_metrics_task_count", {}, tasks, "Tasks run in this worker.")
        for kind in ("connector", "task"):
            started, failed = (self._board.meters.startups[kind, success] for success in (True, False))
            for result, count in (("attempts", started + failed), ("success", started), ("failure", failed)):
                f.counter(f"worker_metrics_{kind}_startup_{result}_total", {}, count, f"Starts of a {kind}: {result}.")
        f.gauge("headrace_auto_restarts_waiting", {}, self._restarts.waiting, "Automatic restarts that wait.")
        delayed = self._restarts.counts.delayed
        f.counter("headrace_auto_restarts_delayed_total", {}, delayed, "Automatic restarts that waited for the budget.")
        f.gauge("headrace_slots", {}, len(slots), "Slots that are up.")
        without_core = len(self._engine.slots_without_core)
        f.gauge("headrace_slots_without_core", {}, without_core, "Slots that wait for a core of the Spark cluster.")
        for slot in slots:
            own = {"slot": slot.slot}
            f.gauge("headrace_slot_tasks", own, len(slot.tasks), "Tasks that a slot runs.")
            f.gauge("headrace_slot_memory_bytes", own, slot.memory, "Memory of a slot and its JVM for Java plugins.")
            if slot.java_memory:
                f.gauge("headrace_slot_java_memory_bytes", own, slot.java_memory, "Memory of a slot's JVM.")
                f.gauge("headrace_slot_java_heap_bytes", own, slot.java_heap, "Heap in use of a slot's JVM.")
        if isinstance(self._policy, MonitoredPolicy):
            add_plugin_metrics(f, {}, self._policy.metrics)

    def _connector(self, f: MetricFamilies, stored: StoredConnector, kind: str) -> None:
        name, labels = stored.name, {"connector": stored.name}
        status, tasks = self._statuses.connector_status(name), self._statuses.task_statuses(name)
        if status is not None:
            more = {"class": stored.config.get("connector.class", ""), "type": kind, "version": status.version or ""}
            f.gauge(
                "connector_metrics_status", {**labels, **more, "status": _lower(status)}, 1, "State of a connector."
            )
        if status is not None and status.state is State.RUNNING and self._board.reports(name):
            add_plugin_metrics(f, labels, self._board.meters.connector_metrics.get(name, ()))
        counts = Counter(task.state for task in tasks.values())
        total = "worker_metrics_connector_total_task_count"
        f.gauge(total, labels, len(tasks), "Tasks of a connector.")
        for state in _TASK_STATES:
            word = state.value.lower()
            of_state = f"worker_metrics_connector_{word}_task_count"
            f.gauge(of_state, labels, counts[state], f"Tasks of a connector that are {word}.")
        self._auto_restarts(f, name, CONNECTOR, labels)
        limit = self._limit_of(name)
        f.gauge("headrace_rate_limit_records", labels, limit.records, "Records per second that a connector may move.")
        f.gauge("headrace_rate_limit_bytes", labels, limit.bytes, "Bytes per second that a connector may move.")
        stalled = self._stalls.stalled(name)
        meters, errors = self._board.meters.by_task(name), self._board.errors.by_task(name)
        for number, task in tasks.items():
            own = {**labels, "task": number}
            f.gauge("connector_task_metrics_status", {**own, "status": _lower(task)}, 1, "State of a task.")
            f.gauge("headrace_task_stalled", own, number in stalled, "Whether records wait but the task writes none.")
            restarts = self._board.meters.restarts[TaskId(name, number)]
            f.counter("headrace_task_restarts_total", own, restarts, "Starts of a task after its first.")
            self._auto_restarts(f, name, number, own)
            if number in meters:
                _task(f, kind, own, meters[number], self._board.runs(TaskId(name, number)))
            if number in errors:
                _errors(f, own, errors[number].total, errors[number].stages)

    def _auto_restarts(self, f: MetricFamilies, name: str, unit: int, labels: Labels) -> None:
        if count := self._restarts.counts.restarts.get(name, Counter())[unit]:
            kind = "connector" if unit == CONNECTOR else "task"
            f.counter(f"headrace_{kind}_auto_restarts_total", labels, count, f"Automatic restarts of a failed {kind}.")


def _task(f: MetricFamilies, kind: str, labels: Labels, meter: TaskMeter, runs: bool) -> None:
    commits = "connector_task_metrics_offset_commit"
    f.counter(f"{commits}_success_total", labels, meter.total("commits"), "Offset commits that succeeded.")
    f.counter(f"{commits}_failure_total", labels, meter.total("commit_failures"), "Offset commits that failed.")
    if (at := meter.value("progress_at")) is not None and at >= 0:
        f.gauge("headrace_task_last_write_timestamp_seconds", labels, at / 1000, "When the task last wrote a record.")
    sink = kind == "sink"
    prefix, batch = ("sink_task_metrics", "put_batch") if sink else ("source_task_metrics", "poll_batch")
    names = ("sink_record_read", "sink_record_send") if sink else ("source_record_poll", "source_record_write")
    f.counter(f"{prefix}_{names[0]}_total", labels, meter.total("read"), "Records read before transformations.")
    f.counter(f"{prefix}_{names[1]}_total", labels, meter.total("written"), "Records written.")
    batches = meter.total("batches")
    average = meter.total("batch_ms") / batches if batches else 0.0
    f.gauge(f"{prefix}_{batch}_avg_time_ms", labels, average, "Average time of a batch.")
    f.gauge(f"{prefix}_{batch}_max_time_ms", labels, meter.value("longest_ms"), "Longest time of a batch.")
    f.counter(f"headrace_{batch}_seconds_total", labels, meter.total("batch_ms") / 1000, "Time of all batches.")
    f.counter(f"headrace_{batch}_total", labels, batches, "Batches.")
    for plugin in FALLBACKS:
        if count := meter.total(f"fallbacks_{plugin}"):
            why = {**labels, "reason": f"{plugin}_error"}
            help_text = "Batches processed record by record because a plugin raised."
            f.counter("headrace_task_record_by_record_batches_total", why, count, help_text)
    if throttled := meter.total("throttled_ms"):
        help_text = "Time for which the rate limit has delayed a task."
        f.counter("headrace_task_throttled_seconds_total", labels, throttled / 1000, help_text)
    if transactions := meter.total("transactions"):
        _transactions(f, labels, meter, transactions)
    if runs:  # after a task has ended here, the gauges of its last report no longer apply
        active = f"{prefix}_{'sink' if sink else 'source'}_record_active_count"
        f.gauge(active, labels, meter.value("active"), "Records read but not yet written.")
        add_plugin_metrics(f, labels, meter.plugins)
    if sink and runs:
        f.gauge(f"{prefix}_partition_count", labels, meter.value("partitions"), "Partitions assigned to a task.")
        f.gauge("headrace_sink_record_lag", labels, meter.value("lag"), "Records behind the ends of its partitions.")


def add_plugin_metrics(f: MetricFamilies, labels: Labels, metrics: Iterable[PluginMetric]) -> None:
    """Of plugins that register metrics (KIP-877)."""
    seen = set()
    for name, own, value, text in metrics:
        metric = f"plugins_{_word(name)}"
        every = {**labels, **{_word(label): content for label, content in own.items()}}
        if (key := (metric, *every.items())) not in seen:
            seen.add(key)
            f.gauge(metric, every, value, text)


def _word(name: str) -> str:
    """A name as Prometheus accepts it."""
    return re.sub("[^a-zA-Z0-9_]", "_", name)


def _transactions(f: MetricFamilies, labels: Labels, meter: TaskMeter, count: float) -> None:
    """Of an exactly-once source (KIP-618)."""
    size = "source_task_metrics_transaction_size"
    average = meter.total("transaction_records") / count
    f.gauge(f"{size}_avg", labels, average, "Average number of records in a committed transaction.")
    f.gauge(f"{size}_min", labels, meter.value("smallest_transaction"), "Records in the smallest transaction.")
    f.gauge(f"{size}_max", labels, meter.value("largest_transaction"), "Records in the largest transaction.")
    f.counter("headrace_transactions_total", labels, count, "Committed transactions.")


_ERRORS: Mapping[str, str] = {  # our counts, with Apache's names
    "failed_tries": "total_record_failures",
    "failed": "total_record_errors",
    "skipped": "total_records_skipped",
    "retries": "total_retries",
    "logged": "total_errors_logged",
    "dead_letters": "deadletterqueue_produce_requests",
    "dead_letter_failures": "deadletterqueue_produce_failures",
}


def _errors(
    f: MetricFamilies, labels: Labels, total: Mapping[str, int], stages: Mapping[str, Mapping[str, int]]
) -> None:
    for ours, apaches in _ERRORS.items():
        f.counter(f"task_error_metrics_{apaches}", labels, total.get(ours, 0), f"Failed records: {ours}.")
    for stage, what, count in _by_stage(stages):
        f.counter(f"headrace_errors_{what}_total", {**labels, "stage": stage}, count, f"Failed records: {what}.")


def _by_stage(stages: Mapping[str, Mapping[str, int]]) -> Iterable[tuple[str, str, int]]:
    return ((stage, what, count) for stage, counts in stages.items() for what, count in counts.items())


def _lower(status: StatusRecord) -> str:
    return status.state.value.lower()
