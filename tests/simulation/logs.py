"""A worker's storage topics in the simulated Kafka (runtime.storage.port), and its transactional writers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from runtime.kafka.errors import BrokerUnavailable, TransactionOpen, WriterFenced
from runtime.kafka.log.log import Apply, Awaited, TopicSpec, Written
from runtime.kafka.log.transactional_writer import TransactionalWriter
from tests.simulation.kafka import Fenced, Kafka
from tests.simulation.loop import Process
from tests.simulation.network import KAFKA, Network

_T = TypeVar("_T")
_Pair = tuple[bytes, "bytes | None"]

TIMEOUT = 30.0
MAX_WAIT = 70.0
"""Seconds for which open transactions of a connector are waited for."""


class SimLogs:
    """One reader for all topics of a worker, and one producer, whose writes to a topic keep their order."""

    def __init__(self, kafka: Kafka, network: Network, process: Process) -> None:
        self._kafka, self._network, self._process, self._host = kafka, network, process, process.name
        self._logs: dict[str, SimLog] = {}
        self._fetching: set[str] = set()  # topics with a fetch on its way
        self._sends: dict[str, asyncio.Queue[tuple[_Pair, asyncio.Future[Written]]]] = {}
        self._tasks: list[asyncio.Task[Any]] = []
        self.cluster_id = "simulated"

    @property
    def error(self) -> str:
        return "" if self._network.reaches(self._host, KAFKA) else "cut off"

    def open(self, spec: TopicSpec, apply: Apply) -> SimLog:
        log = self._logs[spec.topic] = SimLog(self, spec, apply)
        return log

    async def start(self) -> None:
        self._kafka.on_change.append(self._on_change)
        self._process.at_end.append(self._unsubscribe)
        for topic in self._logs:
            sends = self._sends[topic] = asyncio.Queue()
            self._tasks.append(self._process.spawn(self._send(topic, sends), "producer"))
            self._on_change(topic)
        await asyncio.gather(*(log.read_to_end() for log in self._logs.values()))

    async def close(self) -> None:
        self._unsubscribe()
        for task in self._tasks:
            task.cancel()

    def _unsubscribe(self) -> None:
        if self._on_change in self._kafka.on_change:
            self._kafka.on_change.remove(self._on_change)

    def _on_change(self, topic: str) -> None:
        if topic in self._logs and topic not in self._fetching:
            self._fetching.add(topic)
            self._network.deliver(KAFKA, self._host, lambda: self._fetched(topic))

    def _fetched(self, topic: str) -> None:
        self._fetching.discard(topic)
        self._process.call(0.0, self._logs[topic].advance)

    async def _send(self, topic: str, sends: asyncio.Queue[tuple[_Pair, asyncio.Future[Written]]]) -> None:
        while True:
            pair, future = await sends.get()
            offset = (await self._network.ask(self._host, partial(self._kafka.append, topic, [pair])))[0]
            if not future.done():
                future.set_result((0, offset))

    def send(self, topic: str, pair: _Pair) -> asyncio.Future[Written]:
        future: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._sends[topic].put_nowait((pair, future))
        return future

    async def ends(self, topic: str) -> tuple[int, int]:
        """The last stable offset and the end of a topic."""
        log = self._kafka.topic(topic)
        found: tuple[int, int] = await within(TIMEOUT, self._network.ask(self._host, lambda: (log.stable, log.end)))
        return found

    def written(self, topic: str) -> None:
        self._kafka.at_write(topic, self._host)

    def log(self, name: str) -> Any:
        return self._kafka.topic(name)


class SimLog:
    """One storage topic, read up to `position`."""

    def __init__(self, logs: SimLogs, spec: TopicSpec, apply: Apply) -> None:
        self._logs, self.spec, self._apply = logs, spec, apply
        self._topic = logs.log(spec.topic)
        self.position = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    def advance(self) -> None:
        """Apply the records up to the last stable offset."""
        if (end := self._topic.stable) > self.position:
            records = self._topic.read(self.position, end)
            self.position = end
            if records:
                self._apply(records)
            for at, waiter in self._waiters:
                if at <= end and not waiter.done():
                    waiter.set_result(None)
            self._waiters = [(at, w) for at, w in self._waiters if not w.done()]

    async def _reached(self, offset: int) -> None:
        if self.position < offset:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((offset, waiter))
            await waiter

    async def write_all(self, records: Sequence[_Pair], writer: TransactionalWriter | None = None) -> None:
        async def write() -> None:
            if written := await self._written(records, writer):
                self._logs.written(self.spec.topic)
                await self._reached(written[-1][1] + 1)

        await within(TIMEOUT, write())

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        return self._logs.send(self.spec.topic, (key, value))

    async def write_acknowledged(self, records: Sequence[_Pair], writer: TransactionalWriter | None = None) -> None:
        written = await within(TIMEOUT, self._written(records, writer))
        placed = {offset for _, offset in written}
        self._apply([r for r in self._topic.records if r.offset in placed])

    async def _written(self, records: Sequence[_Pair], writer: TransactionalWriter | None) -> list[Written]:
        if writer is not None:
            return await writer.write(self.spec.topic, records)
        sent = [self.send(key, value) for key, value in records]
        return [await asyncio.shield(future) for future in sent]

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        stable, end = await self._logs.ends(self.spec.topic)
        await within(TIMEOUT, self._reached(stable))
        if awaited is None:
            return
        until = asyncio.get_running_loop().time() + (MAX_WAIT if awaited.within is None else awaited.within)
        while any(awaited.includes(r) for r in self._topic.open_in(end)):
            if asyncio.get_running_loop().time() > until:
                raise TransactionOpen(f"{awaited.what} are in an open transaction")
            await asyncio.sleep(0.05)
            await self._logs.ends(self.spec.topic)
        self._apply(self._topic.read(self.position, end))


async def within(seconds: float, work: Any) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise BrokerUnavailable(f"Kafka does not answer within {seconds:g} s") from None


class SimWriter(TransactionalWriter):
    """The real writer with simulated calls of its producer, which are coroutines that stand for threads."""

    def __init__(self, kafka: Kafka, network: Network, host: str, transactional_id: str) -> None:
        super().__init__({}, transactional_id)
        self._kafka, self._network, self._host = kafka, network, host

    def _start(self, topic: str, number: int) -> Any:
        return self._init(number)

    async def _init(self, number: int) -> None:
        self._stop()
        if number != self._revocations:
            raise self._not_in_use()
        self._producer, self._started_in = await self._call(lambda: self._kafka.init_producer(self._id)), number

    def _stop(self) -> None:
        self._producer = None

    def _write(self, topic: str, records: Sequence[_Pair]) -> Any:
        return self._transaction(topic, records)

    async def _transaction(self, topic: str, records: Sequence[_Pair]) -> list[Written]:
        epoch = self._producer
        if epoch is None or not self.started:
            raise self._not_in_use()
        try:
            transaction = await self._call(lambda: self._kafka.begin(self._id, epoch))
            offsets = await self._call(lambda: self._kafka.append(topic, records, transaction))
            await self._call(lambda: self._kafka.commit(transaction))
        except Fenced:
            self._stop()
            raise WriterFenced(f"another producer has taken over the transactional id {self._id}") from None
        except BrokerUnavailable:  # the outcome is unknown
            self._stop()
            raise
        return [(0, offset) for offset in offsets]

    async def _call(self, action: Callable[[], _T]) -> _T:
        found: _T = await within(self._timeout, self._network.ask(self._host, action))
        return found


def new_writer(kafka: Kafka, network: Network, host: str) -> Callable[[Mapping[str, Any], str], SimWriter]:
    return lambda settings, transactional_id: SimWriter(kafka, network, host, transactional_id)
