"""Keeps librdkafka's clients, and closes them.

When the garbage collector frees a client in one of librdkafka's own threads, which run the callbacks of admin requests,
librdkafka ends the process (`rd_kafka_destroy() called from librdkafka owned thread`); and exceptions keep clients in
cycles, since their tracebacks hold the frames of requests. So each client is referenced here until it is closed: by its
owner, or, when its owner is gone, by a thread of this module. `tui/kafka_clients.py` does the same for the console."""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from runtime.kafka.clients.logins import LOGIN, Credentials, certificates, password
from runtime.kafka.clients.logins import renew as renew_logins
from runtime.kafka.clients.oauth.tokens import native_settings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

_TIMEOUT = 1.0  # seconds for each connection


def connect(producer: Any, topic: str) -> bool:
    """Wait for the producer's connections to a bootstrap server and to the broker behind it; False if none responds.
    Without them librdkafka repeats its first request only after half a second. `topic` is any topic that may be
    described. Blocks."""
    from confluent_kafka import KafkaException

    with contextlib.suppress(KafkaException):  # the next request fails for the same reason
        for _ in range(2):
            producer.list_topics(topic, timeout=_TIMEOUT)
        return True
    return False


def responds(admin: KeptAdmin, topic: str) -> bool:
    """Whether a bootstrap server responds to a client. `topic` is one that may be described, or that does not exist.
    Blocks."""
    from confluent_kafka import KafkaException

    with admin.use() as client, contextlib.suppress(KafkaException):
        client.list_topics(topic, timeout=_TIMEOUT)
        return True
    return False


def missing_right(error: KafkaError) -> str:
    """The right on the transactional id whose absence caused TRANSACTIONAL_ID_AUTHORIZATION_FAILED: looking up the
    coordinator needs DESCRIBE, which WRITE includes."""
    return "DESCRIBE" if "coordinator" in error.str() else "WRITE"


_log = logging.getLogger(__name__)

_T = TypeVar("_T")
_FLUSH = 1.0  # seconds for the reports of purged records
_INTERVAL = 0.2  # seconds between two looks at closed producers that are still in use
_OWN_REFERENCES = 2  # to a closed producer: a list, and the argument of getrefcount()

_open: dict[int, tuple[Any, weakref.finalize[..., Any] | None]] = {}
_logins: dict[int, Mapping[str, Any]] = {}
"""The settings of those open clients whose login has a name."""
_outdated: set[int] = set()
"""Those of these clients that have an old password."""
_unused: queue.SimpleQueue[Any] = queue.SimpleQueue()  # its put() may run inside the garbage collector
_thread: threading.Thread | None = None
_starting = threading.Lock()


def opened(make: Callable[[dict[str, Any]], _T], settings: Mapping[str, Any], owner: object = None) -> _T:
    """As keep(), for a new client of this class with these settings. Raises as native_settings()."""
    client = keep(make(native_settings(settings)), owner)
    if LOGIN in settings:
        _logins[id(client)] = settings
        _log_in(client, settings)  # the credentials may have changed meanwhile
    return client


def renew(logins: Mapping[str, Credentials]) -> None:
    """From now on these logins have these credentials. Open clients authenticate with a new password when they connect
    again or their session ends, once log_in_again() has given it to them; owners of clients with other certificates
    have to replace them. Thread-safe."""
    renew_logins(logins)
    _outdated.update(number for number, settings in list(_logins.items()) if settings[LOGIN] in logins)


def log_in_again(client: Any) -> None:
    """Give a client the new password of its login if it has changed. For the thread that polls it: confluent-kafka
    lets a call of another thread wait until no thread is in a call, which polls without pause may put off for ever."""
    if _outdated and id(client) in _outdated and (settings := _logins.get(id(client))) is not None:
        _outdated.discard(id(client))
        _log_in(client, settings)


def _log_in(client: Any, settings: Mapping[str, Any]) -> None:
    if (now := password(settings)) is not None:
        client.set_sasl_credentials(*now)


def keep(client: _T, owner: object = None) -> _T:
    """Reference a client until close(), which is called for it when its owner is gone. The client's callbacks must not
    reference the owner."""
    _start_thread()
    finalizer = None
    if owner is not None:
        finalizer = weakref.finalize(owner, _unused.put, client)
        finalizer.atexit = False
    _open[id(client)] = client, finalizer
    return client


def close(client: Any) -> None:
    """Close a client that no other thread uses. A second call does nothing.

    A producer discards its unsent records, and the thread of this module frees it as soon as nothing refers to it: its
    own close() would wait without limit for a coordinator that does not respond."""
    if isinstance(threading.current_thread(), threading._DummyThread):  # of librdkafka: the collector ended a generator
        close_later(client)
        return
    kept = _open.pop(id(client), None)
    _logins.pop(id(client), None)
    _outdated.discard(id(client))
    if kept is not None:
        if kept[1] is not None:
            kept[1].detach()
        _close(client)


def _close(client: Any) -> None:
    from confluent_kafka import Consumer, Producer

    if isinstance(client, Consumer):
        client.close()
    elif isinstance(client, Producer):
        client.purge()
        flush(client, _FLUSH)  # unsent records keep their callbacks alive, which refer to the client
        _unused.put(client)
    else:
        client.__exit__(None, None, None)  # AdminClient has no close()


def flush(producer: Any, timeout: float) -> int:
    """The number of records whose reports are missing after `timeout` seconds. A flush ends with the fatal error of
    its producer, while other reports wait."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        try:
            return int(producer.flush(left))
        except (KafkaException, SystemError) as error:  # SystemError: a report has handled the fatal error
            error.__traceback__ = None  # confluent-kafka may keep the error, and with it these frames and the producer
    return len(producer)


def close_later(client: Any) -> None:
    """As close(), in another thread."""
    _unused.put(client)


def count() -> int:
    """The number of open clients."""
    return len(_open)


# A request for a broker that is dead, such as the leader of a partition before the next election, asks for a connection
# after each failed attempt, and each of these requests ends the delay before the next attempt: 250 to 700 attempts a
# second until the request times out (librdkafka 2.16). Without sparse connections nothing has to ask for them.
# A request for the metadata of a topic must not create it: librdkafka treats an admin client as a producer.
_ADMIN: Mapping[str, Any] = {"log_level": 2, "enable.sparse.connections": False, "allow.auto.create.topics": False}


@contextmanager
def admin_client(settings: Mapping[str, Any]) -> Iterator[AdminClient]:
    """An admin client for a few requests."""
    from confluent_kafka.admin import AdminClient

    yield from _used(opened(AdminClient, {**settings, **_ADMIN}))


@contextmanager
def consumer(settings: Mapping[str, Any]) -> Iterator[Consumer]:
    """A consumer for a few requests."""
    from confluent_kafka import Consumer

    yield from _used(opened(Consumer, settings))


@contextmanager
def producer(settings: Mapping[str, Any]) -> Iterator[Producer]:
    """A producer for a few records; those that are not flushed are discarded."""
    from confluent_kafka import Producer

    yield from _used(opened(Producer, settings))


def _used(client: _T) -> Iterator[_T]:
    try:
        yield client
    finally:
        close(client)


@dataclass(slots=True)
class _Lease:
    client: AdminClient
    certificates: tuple[str | None, ...]
    users: int = 0


class KeptAdmin:
    """One admin client for all requests of its owner. Thread-safe."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = {**settings, **_ADMIN}
        self._lock = threading.Lock()
        self._lease: _Lease | None = None

    @contextmanager
    def use(self) -> Iterator[AdminClient]:
        """The client, which stays open until the end of the block: closing it cancels its requests without a word."""
        lease = self._enter()
        try:
            log_in_again(lease.client)
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

    close = renew

    def _enter(self) -> _Lease:
        from confluent_kafka.admin import AdminClient

        now = certificates(self._settings)
        if self._lease is not None and self._lease.certificates != now:
            self.renew()
        with self._lock:
            if self._lease is None:
                self._lease = _Lease(opened(AdminClient, self._settings, self), now)
            self._lease.users += 1
            return self._lease

    def _leave(self, lease: _Lease) -> None:
        with self._lock:
            lease.users -= 1
            is_done = not lease.users and lease is not self._lease
        if is_done:
            close(lease.client)


def _start_thread() -> None:
    """A process that was forked has no threads yet."""
    global _thread
    with _starting:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_close_clients, name="kafka-clients", daemon=True)
            _thread.start()


def _close_clients() -> None:
    producers: list[Producer] = []
    while True:
        with suppress(queue.Empty):
            _take(_unused.get(timeout=_INTERVAL if producers else None), producers)
        for index in reversed(range(len(producers))):
            if sys.getrefcount(producers[index]) <= _OWN_REFERENCES:
                del producers[index]


def _take(client: Any, producers: list[Producer]) -> None:
    if id(client) not in _open:
        if not any(client is known for known in producers):
            producers.append(client)
        return
    try:
        close(client)
    except Exception:  # of a callback; the thread has to close the next clients, too
        _log.exception("A callback failed while its Kafka client was closed")
