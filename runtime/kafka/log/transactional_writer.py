"""A producer that writes the records of each call in one transaction, under one transactional id (KIP-98).

stopped ── start(): fences earlier producers, aborts their transactions ──► started ── write() ──┐
   ▲                                                                          ▲──────────────────┘
   └── fenced by a later producer, or the outcome of a transaction is unknown ┘
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from runtime.kafka.clients import open_clients
from runtime.kafka.clients.logins import certificates
from runtime.kafka.clients.open_clients import connect, missing_right
from runtime.kafka.clients.raised import raised_error
from runtime.kafka.denials import TOO_LARGE, is_denial, not_authorized, too_large
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem, WriterFenced, is_transient

Records = Sequence[tuple[bytes, "bytes | None"]]

TIMEOUT = 30.0
"""Seconds for each call, as for other writes to storage topics."""

TRANSACTION_TIMEOUT = 10_000
"""Milliseconds after which Kafka aborts the transaction of a worker that has died. Until then consumers that read only
what is committed read nothing that follows."""

_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING")
_T = TypeVar("_T")


class TransactionalWriter:
    """Event loop only. The calls to the producer, which block, run in other threads one after another.

    `settings` are librdkafka settings that reach the cluster."""

    def __init__(self, settings: Mapping[str, Any], transactional_id: str, timeout: float = TIMEOUT) -> None:
        self._settings = {
            **settings,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "queue.buffering.max.messages": 0,  # without a limit: a connector may have more tasks than the default
            "message.timeout.ms": TRANSACTION_TIMEOUT,
            "partitioner": "murmur2_random",
            "log_level": 2,
        }
        self._id, self._timeout = transactional_id, timeout
        self._producer: Any = None
        self._certificates = certificates(settings)  # of the producer
        self._revocations = 0
        self._started_in = 0  # the number of revocations when start() was called
        self._turn = asyncio.Lock()
        self._on_stopped: Callable[[], None] = lambda: None

    @property
    def started(self) -> bool:
        """Whether records can be written. Another producer may have fenced this one, which the next write reports."""
        return self._producer is not None and self._started_in == self._revocations

    def subscribe(self, on_stopped: Callable[[], None]) -> None:
        """Call this function when the writer has stopped because a write failed."""
        self._on_stopped = on_stopped

    async def start(self, topic: str) -> None:
        """Fence all earlier producers with this transactional id. `topic` is any topic that may be described.

        BrokerUnavailable if Kafka does not respond, NotAuthorizedError if a right is missing, KafkaProblem if Kafka
        refuses, WriterFenced if the writer was revoked before its turn."""
        number = self._revocations
        await self._in_turn(lambda: self._start(topic, number))

    def revoke(self) -> None:
        """Refuse writes until the next start(). A start() that waits for its turn fences nobody any more."""
        self._revocations += 1

    async def write(self, topic: str, records: Records) -> list[tuple[int, int]]:
        """Write records in one transaction and wait until it is committed; returns the partition and offset of each.

        WriterFenced if another producer has taken over the transactional id, or if the writer is not started.
        BrokerUnavailable if the outcome is unknown. Both stop the writer. KafkaProblem if Kafka refuses a record; then
        no record has been written."""
        return await self._in_turn(lambda: self._write(topic, records))

    async def stop(self) -> None:
        """Forget the producer; start() creates another one."""
        await self._in_turn(self._stop)

    async def renew(self) -> None:
        """Stop if the producer has old certificates. Only the subscriber knows whether the writer may start again: that
        fences whoever has taken over meanwhile."""
        if self._producer is not None and self._certificates != certificates(self._settings):
            await self.stop()
            self._on_stopped()

    async def _in_turn(self, call: Callable[[], _T]) -> _T:
        """Run a call in a thread, to its end even if the caller is cancelled: the producer allows one at a time."""
        return await asyncio.shield(_retrieved(asyncio.ensure_future(self._exclusively(call))))

    async def _exclusively(self, call: Callable[[], _T]) -> _T:
        async with self._turn:
            was_started = self.started
            try:
                return await asyncio.to_thread(call)
            except KafkaProblem:
                if was_started and not self.started:
                    self._on_stopped()
                raise

    def _start(self, topic: str, number: int) -> None:
        from confluent_kafka import KafkaException, Producer

        self._stop()
        if number != self._revocations:
            raise self._not_in_use()
        self._certificates = certificates(self._settings)
        producer = open_clients.opened(Producer, self._settings, self)
        try:
            connect(producer, topic)
            producer.init_transactions(self._timeout)
        except KafkaException as e:
            open_clients.close(producer)
            raise self._problem(e.args[0], "") from None
        self._producer, self._started_in = producer, number

    def _not_in_use(self) -> WriterFenced:
        return WriterFenced(f"transactional id {self._id} is not in use by this worker")

    def _stop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            open_clients.close(producer)

    def _write(self, topic: str, records: Records) -> list[tuple[int, int]]:
        from confluent_kafka import KafkaException

        producer = self._producer
        if producer is None or not self.started:
            raise self._not_in_use()
        written: dict[int, tuple[int, int]] = {}
        refusals: list[Any] = []

        def delivered(number: int, error: Any, message: Any) -> None:
            if error is not None:
                refusals.append(error)
            else:
                written[number] = message.partition(), message.offset()

        open_clients.log_in_again(producer)
        failure: Any = None
        try:
            producer.begin_transaction()
            for number, (key, value) in enumerate(records):
                producer.produce(topic, value=value, key=key, on_delivery=partial(delivered, number))
            producer.commit_transaction(self._timeout)
        except (KafkaException, SystemError) as e:
            failure = raised_error(e)
        if failure is not None:  # not in the except block, see _give_up()
            self._give_up(producer, failure)
            cause = _cause(failure, refusals)
            if cause.name() == TOO_LARGE:
                raise too_large(self._settings, topic, max(len(key) + len(value or b"") for key, value in records))
            raise self._problem(cause, topic)
        return [written[number] for number in range(len(records))]

    def _give_up(self, producer: Any, error: Any) -> None:
        """Abort the transaction. If that is not possible, the writer stops: the next start() resolves the
        transaction."""
        from confluent_kafka import KafkaException

        certain = error.txn_requires_abort() or not (error.fatal() or error.retriable())
        try:
            if certain and error.name() not in _FENCED:
                producer.abort_transaction(self._timeout)
                return
        except (KafkaException, SystemError) as e:  # the first error is reported
            raised_error(e)
            e.__traceback__ = None  # the client leaks this error; its traceback and its context would keep the producer
        self._stop()

    def _problem(self, error: Any, topic: str) -> KafkaProblem:
        name, what = error.name(), f"transactional id {self._id}"
        if name in _FENCED:
            return WriterFenced(f"another producer has taken over the {what}")
        if name == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            return not_authorized(self._settings, missing_right(error), what)
        if name == "CLUSTER_AUTHORIZATION_FAILED":
            return not_authorized(self._settings, "IDEMPOTENT_WRITE", "the cluster")
        if is_denial(error):
            return not_authorized(self._settings, "WRITE", f"topic {topic}")
        if is_transient(error) or name in ("_TIMED_OUT_QUEUE", "_MSG_TIMED_OUT"):
            return BrokerUnavailable(f"Kafka did not confirm the {what}: {error.str()}")
        return KafkaProblem(f"a transaction of the {what} was refused: {error.str()}")


def _cause(error: Any, refusals: Sequence[Any]) -> Any:
    """The refusal of a record says more than that of its transaction; the others were purged because of it."""
    if error.name() in _FENCED:
        return error
    return next((refusal for refusal in refusals if not refusal.name().startswith("_PURGE")), error)


def _retrieved(task: asyncio.Future[_T]) -> asyncio.Future[_T]:
    """asyncio would log the exception of a call whose caller was cancelled."""
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
