"""Opens, keeps and closes librdkafka's clients. confluent-kafka comes with the extra `runtime` and is imported by the
first client.

When the garbage collector frees a client in one of librdkafka's own threads, which run the callbacks of admin requests,
librdkafka ends the process (`rd_kafka_destroy() called from librdkafka owned thread`); and exceptions keep clients in
cycles, since their tracebacks hold the frames of requests. So each client is referenced here until it is closed: by its
owner, or, when its owner is gone, by a thread of this module. `runtime/kafka/clients/open_clients.py` does the same for
workers."""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tui.errors import HeadraceError, UsageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

_T = TypeVar("_T")
_FLUSH = 1.0  # seconds for the reports of purged records

# Otherwise a request for a dead broker connects to it hundreds of times a second (see the worker's module), and a
# request for the metadata of a topic creates the topic.
_ADMIN: Mapping[str, Any] = {"enable.sparse.connections": False, "allow.auto.create.topics": False}

_IN_WORDS = {
    -192: "no confirmation in time; the record may have been written",
    5: "a partition has no leader at the moment",
    6: "the leader of a partition is changing",
    14: "the coordinator of the group is loading its offsets",
    15: "the coordinator of the group is not available at the moment",
    16: "the coordinator of the group is moving to another broker",
    29: "no permission for the topic",
    30: "no permission for the group",
    31: "no permission for the cluster",
    74: "the leader of a partition has changed",
    75: "the leader of a partition is recovering after a restart",
    78: "the leader of a partition is recovering after a change",
}
"""Errors by code, as far as librdkafka's texts need knowledge of Kafka's protocol or of the client."""

_open: dict[int, tuple[Any, weakref.finalize[..., Any] | None]] = {}
_ownerless: queue.SimpleQueue[Any] = queue.SimpleQueue()  # its put() may run inside the garbage collector
_thread: threading.Thread | None = None
_starting = threading.Lock()


def in_words(error: Any) -> str:
    """A KafkaError as text for people, with Kafka's name of the error where the text is ours."""
    words = _IN_WORDS.get(error.code())
    return f"{words} ({error.name()})" if words else str(error.str())


class ConnectionTrouble:
    """The `error_cb` of a client: keeps the reason for a failed connection, which explains more than the timeout that
    follows. The client refers to it, not to the client's owner."""

    def __init__(self) -> None:
        self.reason = ""

    def __call__(self, error: Any) -> None:
        self.reason = f" ({error.str()})"


class KeptAdmin:
    """One admin client for all requests of its owner. Thread-safe."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._lease: _Lease | None = None

    @contextmanager
    def use(self) -> Iterator[AdminClient]:
        """The client, which stays open until the end of the block: closing it cancels its requests without a word."""
        lease = self._enter()
        try:
            yield lease.client
        finally:
            self._leave(lease)

    def renew(self) -> None:
        """Close the client as soon as no request uses it. The next request gets another one."""
        with self._lock:
            lease, self._lease = self._lease, None
            is_idle = lease is not None and not lease.users
        if lease is not None and is_idle:
            close(lease.client)

    def _enter(self) -> _Lease:
        with self._lock:
            if self._lease is None:
                self._lease = _Lease(_keep(_made(_admin_type, {**self._settings, **_ADMIN}), self))
            self._lease.users += 1
            return self._lease

    def _leave(self, lease: _Lease) -> None:
        with self._lock:
            lease.users -= 1
            is_done = not lease.users and lease is not self._lease
        if is_done:
            close(lease.client)


@dataclass(slots=True)
class _Lease:
    client: AdminClient
    users: int = 0


@contextmanager
def consumer(settings: Mapping[str, Any]) -> Iterator[Consumer]:
    """A consumer for a few requests."""
    client = open_consumer(settings)
    try:
        yield client
    finally:
        close(client)


def open_consumer(settings: Mapping[str, Any], owner: object = None) -> Consumer:
    """A consumer, until close() or the end of its owner."""
    return _keep(_made(_consumer_type, settings), owner)


@contextmanager
def producer(settings: Mapping[str, Any]) -> Iterator[Producer]:
    """A producer for a few records; those that are not flushed are discarded."""
    client = _keep(_made(_producer_type, settings))
    try:
        yield client
    finally:
        close(client)


def close(client: Any) -> None:
    """Close a client that no other thread uses. A second call does nothing."""
    if isinstance(threading.current_thread(), threading._DummyThread):  # of librdkafka: the collector ended a generator
        _ownerless.put(client)
        return
    kept = _open.pop(id(client), None)
    if kept is not None:
        if kept[1] is not None:
            kept[1].detach()
        _close(client)


def count() -> int:
    """The number of open clients."""
    return len(_open)


def require(purpose: str) -> None:
    """Raises HeadraceError, with advice, if confluent-kafka is not installed."""
    try:
        import confluent_kafka  # noqa: F401 - only whether it is installed
    except ImportError:
        advice = "install it with Headrace's extra: pip install 'headrace[runtime]'"
        raise HeadraceError(f"confluent-kafka, needed to {purpose}, is not installed", advice) from None


def _made(kind: Callable[[], Callable[[dict[str, Any]], _T]], settings: Mapping[str, Any]) -> _T:
    require("reach the brokers")
    from confluent_kafka import KafkaException

    try:
        return kind()(_without_log_output(settings))
    except KafkaException as error:
        raise UsageError(f"invalid Kafka settings in the context: {error.args[0].str()}") from None


def _admin_type() -> type[AdminClient]:
    from confluent_kafka.admin import AdminClient

    return AdminClient


def _consumer_type() -> type[Consumer]:
    from confluent_kafka import Consumer

    return Consumer


def _producer_type() -> type[Producer]:
    from confluent_kafka import Producer

    return Producer


def _without_log_output(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keeps librdkafka from writing to the terminal, even at exit, with a logger that discards everything. A log level
    is not enough, since a `debug` setting raises the level again."""
    logger = logging.getLogger("headrace.librdkafka")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return {**settings, "log_level": 0, "logger": logger}


def _keep(client: _T, owner: object = None) -> _T:
    """Reference a client until close(), which is called for it when its owner is gone. The client's callbacks must not
    reference the owner."""
    _start_thread()
    finalizer = None
    if owner is not None:
        finalizer = weakref.finalize(owner, _ownerless.put, client)
        finalizer.atexit = False
    _open[id(client)] = client, finalizer
    return client


def _close(client: Any) -> None:
    from confluent_kafka import Consumer, KafkaException, Producer

    if isinstance(client, Consumer):
        client.close()
    elif isinstance(client, Producer):
        client.purge()  # close() alone would wait without limit for records that cannot be sent
        with suppress(KafkaException):  # raises the producer's fatal error again
            client.flush(_FLUSH)
        client.close()
    else:
        client.__exit__(None, None, None)  # AdminClient has no close()


def _start_thread() -> None:
    global _thread
    with _starting:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_close_ownerless, name="kafka-clients", daemon=True)
            _thread.start()


def _close_ownerless() -> None:
    while True:
        close(_ownerless.get())
