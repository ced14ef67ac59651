"""The calls to Kafka that workers, tasks, tools and the console make, each alone, for a broker with faults.

`python -m tests.support.kafka.kafka_calls TOPIC GROUP TIMEOUT` reads lines `CASE CALL PORT` and runs these cases
concurrently. It prints `start CASE`, then `end CASE SECONDS OUTCOME`: `ok`, or the type and the message of the error;
at the end `left CLIENTS THREADS DESCRIPTORS`, as far as there are more than at the start. A crash ends this process,
not the test."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import inspect
import logging
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.task import SinkTask, SourceTask
from runtime.kafka import fencing, samples
from runtime.kafka.clients import open_clients
from runtime.kafka.cluster_monitor import ClusterMonitor
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.group.ownership import MembershipProof
from runtime.kafka.groups import Groups
from runtime.kafka.log.end_offsets import EndOffsets
from runtime.kafka.log.log import TopicLogs
from runtime.kafka.log.tail_fetch import TailFetcher
from runtime.kafka.log.topics import TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.kafka.positions import Positions
from runtime.model.task_spec import TopicGroup
from runtime.offsets_tool.cluster import OfflineCluster
from runtime.pipeline.produce import transactions
from runtime.pipeline.runner import TaskRunner
from runtime.pipeline.source.delivery import TopicCreator
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.topic_ids import TopicIdRequests, slot_topic_ids
from tests.support.broker import unique
from tests.support.tasks.pipeline import task_spec
from tests.support.tasks.slot_host import RecordingHost
from tui import kafka_clients
from tui.dead_letters.brokers import DeadLetterTopic
from tui.dead_letters.letters import DeadLetter
from tui.model import Connector
from tui.offsets import group_lag
from tui.offsets.brokers import Brokers
from tui.topics.page_scan import ReadLimits
from tui.topics.reader import TopicReader
from tui.topics.topic_details import TopicInspector


@dataclass(frozen=True, slots=True)
class Place:
    """A broker, and a topic and a group with committed offsets on it."""

    bootstrap: str
    topic: str
    group: str
    timeout: float  # seconds for each call that takes a timeout

    @property
    def offsets_topic(self) -> str:
        """A topic for the offsets of sources, which may not write to it themselves."""
        return f"{self.topic}-offsets"

    @property
    def settings(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, "log_level": 0}


_CONCURRENT = 32  # cases
_TASK = 3.0  # seconds for which tasks run
_SETTLE = 20.0  # seconds until all clients are closed

Call = Callable[[Place], Any]
CALLS: dict[str, Call] = {}


def call(function: Call) -> Call:
    CALLS[function.__name__] = function
    return function


def blocking(function: Callable[[Place], Coroutine[Any, Any, Any]]) -> Call:
    """An asynchronous call, in an event loop of its own."""

    def run(place: Place) -> Any:
        return asyncio.run(function(place))

    run.__name__ = function.__name__
    return call(run)


# The worker


@blocking
async def positions(place: Place) -> None:
    asked = Positions(place.settings, place.timeout)
    at = {(place.topic, 0)}
    await asked.partitions()
    await asked.beginnings(at)
    await asked.at_time(at, 0)
    await asked.offsets_retention()
    await asked.next_records({(place.topic, 0): 0}, "read_committed")


@blocking
async def end_offsets(place: Place) -> None:
    ends = EndOffsets(place.settings, [(place.topic, 0)], lambda: None, place.timeout)
    try:
        await asyncio.gather(ends.committed(place.topic), ends.uncommitted(place.topic))
    except TimeoutError:
        raise BrokerUnavailable(f"end offsets of topic {place.topic}") from None
    finally:
        ends.close()


@blocking
async def group_requests(place: Place) -> None:
    groups = Groups(place.settings, place.timeout)
    await groups.committed(place.group)
    await groups.exists(place.group)
    await groups.empty_groups()
    await groups.check_partitions([(place.topic, 0)])
    await groups.members(place.group)


@blocking
async def group_changes(place: Place) -> None:
    groups, group = Groups(place.settings, place.timeout), unique("connect")
    await groups.alter(group, {(place.topic, 0): 1})
    await groups.evict(group, ["nobody"])
    await groups.delete_offsets(group, [(place.topic, 0)])
    await groups.delete(group)


@blocking
async def newest_records(place: Place) -> None:
    await samples.newest(place.settings, place.topic.__eq__, 1)


@call
def rights(place: Place) -> None:
    transactions.without_write(place.settings, [place.topic])


@blocking
async def fence(place: Place) -> None:
    await fencing.fence(place.settings, [unique("fenced")], place.timeout)


@call
def tail(place: Place) -> None:
    fetcher = TailFetcher(place.settings, place.timeout)
    fetcher.fetch({(place.topic, 0): 0})
    fetcher.transactional_ids([1])


@blocking
async def cluster_monitor(place: Place) -> None:
    monitor = ClusterMonitor(place.settings)
    starting = asyncio.create_task(monitor.start())
    done, _ = await asyncio.wait([starting], timeout=4 * place.timeout)
    starting.cancel()
    await monitor.close()
    if not done:
        raise BrokerUnavailable(monitor.error)


@call
def membership(place: Place) -> None:
    proof = MembershipProof(place.settings, place.group)
    proof.since("nobody", 1)
    proof.close()


@blocking
async def storage(place: Place) -> None:
    logs = TopicLogs(place.settings, place.timeout, watch_every=0.2)
    log = logs.open(TopicSpec(unique("storage"), 1, 1, "config.storage", True), lambda records: None)
    starting = asyncio.create_task(logs.start())
    try:
        done, _ = await asyncio.wait([starting], timeout=4 * place.timeout)
        if not done:
            raise BrokerUnavailable(logs.error)
        await starting
        await log.write_all([(b"key", b"value")])
        await log.read_to_end()
        await asyncio.sleep(0.5)
    finally:
        starting.cancel()
        await logs.close()


@blocking
async def transactional_writer(place: Place) -> None:
    writer = TransactionalWriter(place.settings, unique("writer"), place.timeout)
    try:
        await writer.start(place.topic)
        await writer.write(place.topic, [(b"key", b"value")])
    finally:
        await writer.stop()


# Tasks


@call
def topic_creation(place: Place) -> None:
    spec = task_spec("source", "", {}, admin=place.settings, topic_groups=[TopicGroup("default", [], [], 1, 1, {})])
    control = TaskControl(False, lambda: None)
    stop = threading.Timer(4 * place.timeout, control.stop)
    stop.start()
    TopicCreator(spec, control).ensure(unique("created"))
    stop.cancel()


@call
def topic_ids(place: Place) -> None:
    TopicIdRequests().asker(place.settings, patient=True)([place.topic])


@call
def sink_task(place: Place) -> None:
    consumer = {**place.settings, "group.id": unique("connect-sink"), "auto.offset.reset": "earliest"}
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": unique("letters")}
    letters["errors.deadletterqueue.topic.replication.factor"] = "1"
    _run_task(
        task_spec(
            "sink", "tests.support.kafka.kafka_calls:RefusingSink", {}, consumer=consumer, producer=place.settings,
            admin=place.settings, topics=[place.topic], connector_config=letters, flush_timeout=place.timeout,
        )
    )  # fmt: skip


@call
def source_task(place: Place) -> None:
    _run_task(
        task_spec(
            "source", "tests.support.kafka.kafka_calls:SmallSource", {"topic": place.topic}, producer=place.settings,
            offsets_topic=place.topic, flush_timeout=place.timeout,
        )
    )  # fmt: skip


@call
def exactly_once_task(place: Place) -> None:
    _run_task(
        task_spec(
            "source", "tests.support.kafka.kafka_calls:SmallSource", {"topic": place.topic},
            producer={**place.settings, "transactional.id": unique("task")}, offsets_topic=place.offsets_topic,
            transactional_id="task", flush_timeout=place.timeout,
        )
    )  # fmt: skip


class RefusingSink(SinkTask):
    """Refuses all records."""

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            assert self.context.errant_record_reporter is not None
            self.context.errant_record_reporter.report(record, ValueError("refused"))

    def stop(self) -> None:
        pass


class SmallSource(SourceTask):
    """One record with an offset."""

    def start(self, config: Mapping[str, str]) -> None:
        self._left = [SourceRecord({"of": "test"}, {"at": 1}, config["topic"], value="value")]

    def poll(self) -> Sequence[SourceRecord] | None:
        polled, self._left = self._left, []
        return polled

    def stop(self) -> None:
        pass


def _run_task(spec: Any) -> None:
    host = RecordingHost()
    runner = TaskRunner(spec, host)
    stop = threading.Timer(_TASK, runner.stop)
    stop.start()
    runner.run()
    stop.cancel()
    for producer in host.producers._producers.values():  # shared clients, which a slot keeps until its end
        open_clients.close_later(producer.client)
    for admin in slot_topic_ids._clients.values():
        admin.close()
    if host.trace:
        raise BrokerUnavailable(host.trace.splitlines()[0])


# Tools


@call
def offsets_tool(place: Place) -> None:
    topic = place.topic
    cluster = OfflineCluster("connect", topic, topic, topic, place.settings, timeout=place.timeout)
    cluster.workers()
    cluster.exists(place.topic)
    cluster.read(place.topic, lambda records: None)
    cluster.committed(place.group)
    cluster.write([(b"key", b"value")], {unique("connect"): {(place.topic, 0): 0}})


# The console


@call
def console_brokers(place: Place) -> None:
    brokers = Brokers(place.bootstrap, {}, place.timeout)
    at = brokers.partitions(place.topic.__eq__)
    brokers.beginnings(at)
    brokers.ends(at)
    brokers.at_time(at, 0)


@call
def console_lag(place: Place) -> None:
    config = {"topics": place.topic, "consumer.override.group.id": place.group}
    sink = Connector("sink", "sink", "RUNNING", config=config)
    found = group_lag.of_sinks(Brokers(place.bootstrap, {}, place.timeout), [sink])["sink"]
    if isinstance(found, Exception):
        raise found


@call
def console_topic(place: Place) -> None:
    inspector = TopicInspector(Brokers(place.bootstrap, {}, place.timeout), place.topic)
    inspector.with_progress(inspector.details([]))


@call
def console_records(place: Place) -> None:
    reader = TopicReader(place.settings)
    try:
        reader.older(place.topic, ReadLimits(2))
        reader.at_time(place.topic, 0)
    finally:
        reader.close()


@call
def console_letters(place: Place) -> None:
    letters = DeadLetterTopic(place.topic, place.settings)
    letters.newest(1)
    (result,) = letters.replay([DeadLetter(place.topic, 0, 0, 0, b"key", b"value", ())], place.topic)
    if result.error:
        raise BrokerUnavailable(result.error)


# The process


def main(topic: str, group: str, timeout: str) -> None:
    faulthandler.enable()
    logging.disable()
    lock = threading.Lock()

    def report(text: str) -> None:
        with lock:
            print(text, flush=True)

    def run(case: str, name: str, port: str) -> None:
        report(f"start {case}")
        started = time.monotonic()
        outcome = _outcome(CALLS[name], Place(f"127.0.0.1:{port}", topic, group, float(timeout)))
        report(f"end {case} {time.monotonic() - started:.1f} {outcome}")

    before = _resources()
    with ThreadPoolExecutor(_CONCURRENT) as threads:
        for line in sys.stdin:
            threads.submit(run, *line.split())
    deadline = time.monotonic() + _SETTLE
    while (left := [now - then for now, then in zip(_resources(), before, strict=True)]) != [0, 0, 0]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    print("left", *left, flush=True)
    if any(left):
        print(*_kept_clients(), sep="\n", file=sys.stderr)


def _resources() -> tuple[int, int, int]:
    """Open clients, threads and descriptors of this process."""
    gc.collect()
    clients = open_clients.count() + kafka_clients.count()
    own = ("kafka-clients", "asyncio-waitpid")  # the threads that close clients stay
    threads = len(list(Path("/proc/self/task").iterdir())) - sum(t.name in own for t in threading.enumerate())
    return clients, threads, len(list(Path("/proc/self/fd").iterdir()))


def _kept_clients() -> list[str]:
    """The clients that still exist, with what refers to each of them."""
    from confluent_kafka.cimpl import Consumer, Producer, _AdminClientImpl

    clients = [o for o in gc.get_objects() if isinstance(o, (_AdminClientImpl, Consumer, Producer))]
    return [" <- ".join(_chain(client, clients)) for client in clients]


def _chain(referred: object, ignored: object) -> list[str]:
    """What refers to an object, what refers to that, and so on: the first of each, at most eight."""
    chain, seen = [type(referred).__name__], {id(ignored)}
    while len(chain) < 8:
        seen |= {id(referred), id(inspect.currentframe())}
        others = [o for o in gc.get_referrers(referred) if id(o) not in seen and not _is_of(o)]
        if not others:
            break
        referred = others[0]
        chain.append(referred.f_code.co_qualname if isinstance(referred, FrameType) else repr(referred)[:120])
    return chain


def _is_of(referrer: object) -> bool:
    """Whether it is a frame of this search."""
    return isinstance(referrer, FrameType) and referrer.f_code.co_name in ("_chain", "_kept_clients", "<listcomp>")


def _outcome(function: Call, place: Place) -> str:
    try:
        function(place)
    except BaseException as error:  # reported, with its type
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return f"{'/'.join(kinds)}: {' '.join(str(error).split())}"
    return "ok"


if __name__ == "__main__":
    main(*sys.argv[1:])
