"""The connector instances in the plugin host's process."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.api.connector import Connector
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.host.java import is_lost, release
from runtime.kafka.formats import canonical
from runtime.logs import context
from runtime.pipeline.task.failure import trace_of
from runtime.pipeline.task.plugin_metrics import MetricsOwner, plugin_metrics

_TIMEOUT = 900.0
"""Seconds: Kafka's limit for the duration of a transaction, for whose end the worker waits."""

OffsetsResponse = tuple[Sequence[Mapping[str, Any] | None], str | None]


class HostOffsetRequests:
    """The requests of all connectors of the host that have not been answered. Thread-safe."""

    def __init__(self, send: Any) -> None:
        """`send` sends a message to the worker."""
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[OffsetsResponse]] = {}

    def read(self, connector: str, partitions: Sequence[Partition]) -> Sequence[Offset | None]:
        """The committed offset of each partition. ConnectError if they cannot be read, DataError if a partition is not
        JSON."""
        number, responses = next(self._numbers), queue.SimpleQueue[OffsetsResponse]()
        self._waiting[number] = responses
        try:
            wanted = [canonical(partition) for partition in partitions]
            self._send({"event": "read_offsets", "connector": connector, "number": number, "partitions": wanted})
            offsets, error = responses.get(timeout=_TIMEOUT)
        except queue.Empty:
            offsets, error = (), "the worker has not answered"
        finally:
            del self._waiting[number]
        if error is not None:
            raise ConnectError(f"The committed offsets could not be read: {error}")
        return offsets

    def answered(self, number: int, offsets: Sequence[Mapping[str, Any] | None], error: str | None) -> None:
        """The worker has read these offsets, or could not."""
        if (responses := self._waiting.get(number)) is not None:
            responses.put((offsets, error))


class ConnectorOffsetReader:
    """The OffsetReader of one source connector."""

    def __init__(self, connector: str, requests: HostOffsetRequests) -> None:
        self._connector, self._requests = connector, requests

    def offset(self, partition: Partition) -> Offset | None:
        """The committed offset of a source partition; None if it has none."""
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The committed offset of each of these source partitions, in their order."""
        return list(self._requests.read(self._connector, partitions)) if partitions else []


_log = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], None]
"""Sends a message to the worker."""

Config = Mapping[str, str]


class HostConnectorContext:
    """The SourceConnectorContext of one instance: sends its requests to the worker until the instance is stopped."""

    def __init__(self, name: str, send: Send, requests: HostOffsetRequests) -> None:
        self.name, self._send = name, send
        self.offsets = ConnectorOffsetReader(name, requests)
        self.closed = False

    def request_task_reconfiguration(self) -> None:
        self._event({"event": "reconfigure", "connector": self.name})

    def raise_error(self, error: Exception) -> None:
        self._event({"event": "failed", "connector": self.name, "trace": trace_of(error)})

    def watch(self, connector: Connector) -> None:
        """Sends the metrics that the connector registers, whenever they change."""
        owner: MetricsOwner | None = getattr(connector, "metrics_owner", None)
        if owner is not None:
            metrics = owner
            owner.metrics_changed = lambda: self._event(
                {"event": "metrics", "connector": self.name, "metrics": list(plugin_metrics([({}, metrics)]))}
            )

    def _event(self, event: dict[str, Any]) -> None:
        if not self.closed:
            self._send(event)


@dataclass(frozen=True, slots=True)
class _Instance:
    """A started or starting connector."""

    connector: Connector
    config: Config
    context: HostConnectorContext


@dataclass(slots=True, eq=False)
class _Place:
    """The instance for one connector name, and the calls that wait for it. An abandoned place is not registered any
    more and starts no further instance."""

    name: str
    running: _Instance | None = None
    context: HostConnectorContext | None = None  # of the latest instance, also while it is starting
    latest: Connector | None = None  # as context
    abandoned: bool = False
    calls: int = 0  # running and waiting calls
    last: threading.Event | None = None  # set when the last call has returned


class Turn:
    """A call's turn at a connector, with the connector's lines: calls run in the order in which their turns were
    requested."""

    def __init__(self, started: StartedConnectors, place: _Place, before: threading.Event | None) -> None:
        self._started, self._place, self._before = started, place, before
        self._lines = context.of_connector(place.name)
        self.over = threading.Event()

    def __enter__(self) -> _Place:
        if self._before is not None:
            self._before.wait()
        self._lines.__enter__()
        return self._place

    def __exit__(self, *error: Any) -> None:
        self._lines.__exit__(*error)
        self._started.leave(self._place)
        self.over.set()


class StartedConnectors:
    """Started connectors by name. Calls for one connector run one after another, others concurrently."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.requests = HostOffsetRequests(send)
        self._places: dict[str, _Place] = {}
        self._table = threading.Lock()

    def turn(self, name: str) -> Turn:
        """The next turn at this connector; does not wait. The caller must enter the turn."""
        with self._table:
            place = self._places.setdefault(name, _Place(name))
            turn = Turn(self, place, place.last)
            place.last = turn.over
            place.calls += 1
        return turn

    def leave(self, place: _Place) -> None:
        """End a turn, and forget the place of a connector that no longer exists."""
        with self._table:
            place.calls -= 1
            if not place.calls and place.running is None and not place.abandoned:
                del self._places[place.name]

    def start(self, turn: Turn, make: Callable[[], Connector], config: Config) -> None:
        """Start an instance, which replaces the instance of the same name. Returns when the connector's start()
        returns."""
        with turn as place:
            _stop(place)
            _check_wanted(place)
            connector = place.latest = make()
            place.context = context = HostConnectorContext(place.name, self._send, self.requests)
            connector.context = context
            context.watch(connector)
            try:
                _check_wanted(place)
                connector.start(config)
            except BaseException:
                release(connector)
                raise
            with self._table:
                place.running = _Instance(connector, config, context)
                abandoned = place.abandoned
            if abandoned:
                _log.warning("Connector %s has started after it was abandoned; stopping this instance", place.name)
                _stop(place)

    def stop(self, turn: Turn) -> None:
        """Stop the instance; waits for its start() and stop()."""
        with turn as place:
            _stop(place)

    def abandon(self, name: str) -> None:
        """Abandon an instance whose start() or stop() does not return, so that a new instance can be started."""
        with self._table:
            place = self._places.pop(name, None)
            if place is not None:
                place.abandoned = True
                if place.context is not None:
                    place.context.closed = True
        if place is not None and place.latest is not None:
            release(place.latest)

    def jvm_ended(self, reason: str) -> None:
        """Reports the connectors whose instances have ended with their JVM."""
        lost = []
        with self._table:
            for place in self._places.values():
                if place.running is not None and is_lost(place.running.connector):
                    place.running.context.closed = True
                    place.running = None
                    lost.append(place.name)
        _log.error("The JVM of Java connectors has ended; it starts again with its connectors: %s", reason)
        self._send({"event": "lost", "connectors": sorted(lost), "reason": reason})

    def stop_all(self) -> None:
        """Stop every instance, one after another."""
        for name in list(self._places):
            self.stop(self.turn(name))

    def task_configs(self, turn: Turn, max_tasks: int) -> list[dict[str, str]]:
        """The connector's task configs, with the keys that Connect adds: `task.class`, and the topics of a sink.
        LookupError if the connector is not started, TypeError if a config is not text."""
        with turn as place:
            if place.running is None:
                raise LookupError(f"Connector {place.name} is not started")
            connector, config = place.running.connector, place.running.config
            configs = connector.task_configs(max_tasks)
        added = {"task.class": public_name(connector.task_class)}
        added |= {key: config[key] for key in ("topics", "topics.regex") if key in config}
        return [_checked({**task, **added}) for task in configs]


def _check_wanted(place: _Place) -> None:
    if place.abandoned:
        raise LookupError(f"Connector {place.name} was abandoned")


def _stop(place: _Place) -> None:
    instance, place.running = place.running, None
    if instance is None:
        return
    instance.context.closed = True
    try:
        instance.connector.stop()
    except BaseException:  # third-party code: the instance is dropped in any case
        _log.exception("Connector %s raised an error in stop()", place.name)


def public_name(cls: type) -> str:
    """The class name in stored configurations: Java's name for a class that Apache ships, else the Python name."""
    name: str = cls.__dict__.get("java_name") or f"{cls.__module__}.{cls.__qualname__}"
    return name


def target_of(cls: type) -> str:
    """The class in task specifications."""
    target: str = cls.__dict__.get("java_target") or f"{cls.__module__}:{cls.__qualname__}"
    return target


def _checked(config: Mapping[Any, Any]) -> dict[str, str]:
    for key, value in config.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"task_configs() must return dicts of str to str, but returned {key!r}: {value!r}")
    return dict(config)
