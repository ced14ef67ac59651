"""The status store on a real broker, and the order of optimistic writes without one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.kafka.errors import KafkaProblem
from runtime.kafka.formats import compact
from runtime.kafka.log.log import LogRecord, Written
from runtime.model.states import State, TaskId
from runtime.storage.optimistic import OptimisticWrites
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.kafka.stores import MakeStores

RUNNING = StatusRecord(State.RUNNING, None, "127.0.0.1:8083", 3, "4.3.0")
FAILED = StatusRecord(State.FAILED, "a trace\n\tat x", "127.0.0.1:8083", 3, None)


async def test_writes_are_visible_at_once_and_to_the_next_worker(stores: MakeStores) -> None:
    one = await stores()
    one.statuses.put_connector("c", RUNNING)
    one.statuses.put_task(TaskId("c", 0), FAILED)
    one.statuses.put_task(TaskId("d-1", 12), RUNNING)
    one.statuses.put_topic(TaskId("c", 0), "t")
    assert one.statuses.connector_status("c") == RUNNING
    assert one.statuses.task_statuses("c") == {0: FAILED}
    assert one.statuses.topics("c") == ["t"]
    assert one.statuses.connectors() == ["c", "d-1"]
    await one.logs.close()
    two = await stores(one.prefix)
    assert two.statuses.connector_status("c") == RUNNING
    assert two.statuses.task_statuses("c") == {0: FAILED}
    assert two.statuses.task_statuses("d-1") == {12: RUNNING}
    assert two.statuses.topics("c") == ["t"]


async def test_removed_statuses_are_gone_for_the_next_worker(stores: MakeStores) -> None:
    one = await stores()
    one.statuses.put_connector("c", RUNNING)
    one.statuses.put_task(TaskId("c", 0), RUNNING)
    one.statuses.put_topic(TaskId("c", 0), "t")
    one.statuses.remove_task(TaskId("c", 0))
    one.statuses.remove_topics("c")
    one.statuses.remove_connector("c")
    await one.logs.close()
    for store in (one.statuses, (await stores(one.prefix)).statuses):
        assert store.connector_status("c") is None
        assert store.task_statuses("c") == {}
        assert store.topics("c") == []
        assert store.connectors() == []


@pytest.mark.parametrize("partitions", [(0, 7), (7, 0)])
def test_the_later_status_counts_whichever_partition_of_the_topic_is_read_first(partitions: tuple[int, int]) -> None:
    """Keys move when partitions are added to the topic, and compaction keeps their earlier records."""
    store = StatusStore(TestLogs(), topic("statuses"))
    states = {0: State.FAILED, 7: State.RUNNING}
    for partition in partitions:
        status = {"state": states[partition].value, "trace": None, "worker_id": "w:1", "generation": 1}
        store.apply([LogRecord(b"status-connector-c", compact(status), partition, 100 - partition, 1000 + partition)])
    stored = store.connector_status("c")
    assert stored is not None and stored.state is State.RUNNING


async def test_topics_that_another_worker_resets_are_to_be_reported_again(stores: MakeStores) -> None:
    one = await stores()
    two = await stores(one.prefix)
    reset: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
    one.statuses.subscribe(lambda name, removed: None, lambda name, at: reset.put_nowait((name, at)))
    told: list[str] = []
    two.statuses.subscribe(lambda name, removed: None, lambda name, at: told.append(name))
    two.statuses.put_topic(TaskId("c", 0), "t")
    before = int(time.time() * 1000)
    await two.statuses.reset_topics("c", 30)
    assert [value for _, value in await two.seen("status")][-1:] == [None], "written when the request ends"
    name, at = await asyncio.wait_for(reset.get(), 30)
    assert name == "c"
    assert before <= at <= time.time() * 1000
    assert one.statuses.topics("c") == []
    assert told == [], "a worker is not told of its own writes"


async def test_the_last_change_of_a_state_has_a_time(stores: MakeStores) -> None:
    """The next worker knows it from the topic; a record that repeats a state changes nothing."""
    one = await stores()
    one.statuses.put_connector("c", RUNNING)
    one.statuses.put_task(TaskId("c", 0), FAILED)
    assert one.statuses.changed_at("c") == 1500, "the clock of these stores"
    await one.logs.close()
    two = await stores(one.prefix)
    read = two.statuses.changed_at("c")
    assert read is not None
    assert abs(read - time.time() * 1000) < 60_000
    two.statuses.put_task(TaskId("c", 0), replace(FAILED, generation=4))
    assert two.statuses.changed_at("c") == read
    two.statuses.remove_connector("c")
    assert two.statuses.changed_at("c") is None


async def test_the_last_of_many_writes_remains(stores: MakeStores) -> None:
    """A record read back during a write is older than that write."""
    one = await stores()
    for n in range(500):
        state = State.RUNNING if n % 2 else State.PAUSED
        one.statuses.put_connector("c", StatusRecord(state, None, "w", n))
        shown = one.statuses.connector_status("c")
        assert shown is not None
        assert shown.generation == n
        await asyncio.sleep(0)
    await one.raw("status", (b"status-task-c-0", None))
    shown = one.statuses.connector_status("c")
    assert shown is not None
    assert shown.generation == 499


async def test_records_of_other_workers_are_applied(stores: MakeStores) -> None:
    one, two = await stores(), None
    two = await stores(one.prefix)
    one.statuses.put_connector("c", RUNNING)
    await one.raw("status", (b"status-connector-c", b'{"state":"PAUSED","trace":null,"worker_id":"w","generation":9}'))
    for store in (one.statuses, two.statuses):
        await two.logs._read_to_end(f"{two.prefix}-status")
        assert store.connector_status("c") == StatusRecord(State.PAUSED, None, "w", 9, None)


MALFORMED: tuple[tuple[bytes, bytes], ...] = (
    (b"status-connector-c", b'{"state":"ASLEEP","worker_id":"w","generation":1}'),
    (b"status-connector-c", b'{"state":"RUNNING"}'),
    (b"status-connector-c", b"no json"),
    (b"status-task-c", b"{}"),
    (b"status-topic-t", b"{}"),
    (b"status-topic-t:connector-c", b'{"topic":"t"}'),
    (b"status-who", b"{}"),
)


async def test_malformed_records_are_skipped_and_named(stores: MakeStores, caplog: pytest.LogCaptureFixture) -> None:
    one = await stores()
    for record in MALFORMED:
        await one.raw("status", record)
        assert one.statuses.connectors() == [], record
    assert await one.not_reported("status", caplog.text) == []


class _Line:
    """A topic with one key, whose writes and reads the test controls."""

    def __init__(self) -> None:
        self.value: bytes | None = None
        self.sent: list[asyncio.Future[Written]] = []
        self.writes = OptimisticWrites(self._send, self._take, self._apply, lambda *write: self.refused.append(write))
        self.applied: list[int] = []  # offsets
        self.refused: list[tuple[bytes, bytes | None, BaseException]] = []

    def _send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        self.sent.append(asyncio.get_running_loop().create_future())
        return self.sent[-1]

    def _take(self, key: bytes, value: bytes | None) -> None:
        self.value = value

    def write(self, value: bytes | None) -> None:
        self.writes.write(b"k", value)

    def read(self, offset: int, value: bytes | None) -> None:
        self._apply([LogRecord(b"k", value, 0, offset, 0)])

    def _apply(self, records: Sequence[LogRecord]) -> None:
        for record in records:
            if not self.writes.superseded(record):
                self.applied.append(record.offset)
                self._take(b"k", record.value)

    async def written(self, number: int, offset: int) -> None:
        self.sent[number].set_result((0, offset))
        await asyncio.sleep(0)


async def test_a_write_is_read_back_when_it_is_in_the_topic_and_was_read() -> None:
    line = _Line()
    line.write(b"1")
    line.write(b"2")
    waiting = asyncio.create_task(line.writes.read_back([b"k", b"never written"], 30))
    await line.written(0, 0)
    line.read(0, b"1")
    await line.written(1, 1)
    await asyncio.sleep(0)
    assert not waiting.done()
    line.read(1, b"2")
    await waiting


async def test_the_wait_for_a_write_is_limited() -> None:
    line = _Line()
    line.write(b"1")
    await line.writes.read_back([b"k"], 0.01)
    await line.written(0, 0)
    line.read(0, b"1")


async def test_own_tombstone_does_not_erase_the_next_write() -> None:
    line = _Line()
    line.write(b"1")
    line.write(None)
    line.write(b"3")
    for number in range(3):
        await line.written(number, number)
    for offset, value in enumerate((b"1", None, b"3")):
        line.read(offset, value)
        assert line.value == b"3"
    line.read(3, b"theirs")
    assert line.value == b"theirs"


@pytest.mark.parametrize("theirs, shown", [(4, b"ours"), (6, b"theirs")])
async def test_a_record_read_during_a_write_is_ordered_by_its_offset(theirs: int, shown: bytes) -> None:
    line = _Line()
    line.write(b"ours")
    line.read(theirs, b"theirs")
    assert line.value == b"ours"
    await line.written(0, 5)
    assert line.value == shown
    assert line.applied == [6] * (theirs == 6), "as any record that is read, so that subscribers hear of it"
    if theirs < 5:
        line.read(5, b"ours")
    line.read(7, b"later")
    assert line.value == b"later"


async def test_a_record_may_be_read_back_before_its_acknowledgement() -> None:
    line = _Line()
    line.write(b"ours")
    line.read(0, b"ours")
    await line.written(0, 0)
    line.read(1, b"theirs")
    assert line.value == b"theirs"


async def test_after_a_failed_write_the_topic_decides() -> None:
    line = _Line()
    line.write(b"ours")
    line.sent[0].set_exception(KafkaProblem("no"))
    await asyncio.sleep(0)
    line.read(0, b"theirs")
    assert line.value == b"theirs"


@pytest.mark.parametrize("failing", [[0], [1], [0, 1]])
async def test_the_last_value_is_reported_when_all_writes_have_ended_and_one_was_refused(failing: list[int]) -> None:
    line, error = _Line(), KafkaProblem("the producer has failed")
    line.write(b"1")
    line.write(b"2")
    for number in (0, 1):
        assert line.refused == []
        if number in failing:
            line.sent[number].set_exception(error)
            await asyncio.sleep(0)
        else:
            await line.written(number, 5)
    assert line.refused == [(b"k", b"2", error)]


async def test_a_refused_write_is_not_reported_if_another_worker_has_written_since() -> None:
    line = _Line()
    line.write(b"ours")
    line.read(3, b"theirs")
    line.sent[0].set_exception(KafkaProblem("the producer has failed"))
    await asyncio.sleep(0)
    assert (line.value, line.refused) == (b"theirs", [])
