"""A connector that ends the worker at each start, across several workers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NoReturn

import pytest

from runtime.herder.control.crash_loop import LIMIT, CrashLoopGuard, Timing
from runtime.host.port import HostError
from runtime.storage.documents import Documents
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.waiting import until

KILLER, CALM = {"connector.class": "Killer"}, {"connector.class": "Calm"}
TIMING = Timing(linger=0.02, quiet=0.1, write=0.5)


class WorkerDied(BaseException):
    """Raised in start() to end the test's worker."""


class Workers:
    """Consecutive workers with the same topic."""

    def __init__(self) -> None:
        self.logs = TestLogs()
        self.documents = Documents(self.logs, topic("j"))
        self.starts: list[str] = []

    async def boot(self) -> CrashLoopGuard:
        """Starts the next worker; the last one writes nothing more."""
        guard = CrashLoopGuard(self.documents, TIMING)
        await guard.begin()
        return guard

    async def start(self, guard: CrashLoopGuard, name: str, config: dict[str, str] = CALM) -> None:
        async def start() -> None:
            self.starts.append(name)
            if config is KILLER:
                await _dead(guard)

        await guard.run(name, config, start, last=True)

    async def boot_and_die(self, *innocent: str) -> None:
        """A worker that starts these connectors and the killer."""
        guard = await self.boot()
        starts = [asyncio.create_task(self.start(guard, name)) for name in innocent]
        killer = asyncio.create_task(self.start(guard, "killer", KILLER))
        await asyncio.wait({killer, *starts}, timeout=0.2)
        for task in (killer, *starts):
            task.cancel()
        await asyncio.gather(killer, *starts, return_exceptions=True)


async def _dead(guard: CrashLoopGuard) -> NoReturn:
    """Ends the process: none of its pending writes reaches the topic."""
    guard._documents = None
    await asyncio.Event().wait()
    raise WorkerDied


@pytest.fixture
def workers() -> Workers:
    return Workers()


async def test_a_connector_that_starts_soon_after_another_is_counted_from_the_first_death(workers: Workers) -> None:
    for _ in range(LIMIT):
        guard = await workers.boot()
        await workers.start(guard, "a")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(workers.start(guard, "killer", KILLER), 0.2)
    with pytest.raises(HostError, match=f"the worker died {LIMIT} times"):
        async with asyncio.timeout(2):
            await workers.start(await workers.boot(), "killer", KILLER)


async def test_a_connector_is_quarantined_after_three_deaths(workers: Workers) -> None:
    for _ in range(LIMIT):
        await workers.boot_and_die("a", "b")
    guard = await workers.boot()
    with pytest.raises(HostError, match="the worker died 3 times in a row while this connector was starting") as e:
        await workers.start(guard, "killer", KILLER)
    assert not e.value.temporary
    assert "restart the connector or update its configuration" in e.value.trace
    assert workers.starts.count("killer") == LIMIT
    await workers.start(guard, "a")
    await workers.start(guard, "b")


async def test_the_quarantine_survives_workers_that_do_not_crash(workers: Workers) -> None:
    for _ in range(LIMIT):
        await workers.boot_and_die()
    for _ in range(2):
        guard = await workers.boot()
        await workers.start(guard, "a")
        await asyncio.sleep(TIMING.quiet + 0.1)
        await guard.close()
    assert (await workers.boot()).quarantined("killer", KILLER)


async def test_a_restart_ends_the_quarantine_until_the_next_death(workers: Workers) -> None:
    for _ in range(LIMIT):
        await workers.boot_and_die()
    guard = await workers.boot()
    guard.release("killer")
    start = asyncio.create_task(workers.start(guard, "killer", KILLER))
    await until(lambda: workers.starts.count("killer") == LIMIT + 1)
    start.cancel()
    assert (await workers.boot()).quarantined("killer", KILLER)


async def test_a_new_configuration_ends_the_quarantine(workers: Workers) -> None:
    for _ in range(LIMIT):
        await workers.boot_and_die()
    guard = await workers.boot()
    await workers.start(guard, "killer", {"connector.class": "Fixed"})
    await asyncio.sleep(TIMING.quiet + 0.1)
    assert workers.documents.get("starts") is None


async def test_a_deleted_connector_is_forgotten(workers: Workers) -> None:
    for _ in range(LIMIT):
        await workers.boot_and_die()
    guard = await workers.boot()
    guard.forget("killer")
    await asyncio.sleep(0.01)
    assert workers.documents.get("starts") is None


async def test_suspects_that_start_are_no_longer_suspected(workers: Workers) -> None:
    await workers.boot_and_die("a", "b")
    guard = await workers.boot()
    await asyncio.gather(workers.start(guard, "a"), workers.start(guard, "b"))
    await asyncio.sleep(TIMING.quiet + 0.15)
    assert workers.documents.get("starts") is None


async def test_suspects_of_a_single_death_start_without_delay(workers: Workers) -> None:
    """A single death of a starting worker may have any cause."""
    await workers.boot_and_die(*(f"c{number}" for number in range(30)))
    guard = await workers.boot()
    async with asyncio.timeout(30 * TIMING.linger / 2):
        await asyncio.gather(*(workers.start(guard, f"c{number}") for number in range(30)))


async def test_a_connector_that_kills_the_worker_after_its_start_is_quarantined(workers: Workers) -> None:
    """Other connectors that started at the same time are not quarantined."""
    for _ in range(LIMIT):
        guard = await workers.boot()

        async def late(guard: CrashLoopGuard = guard) -> None:
            asyncio.get_running_loop().call_later(TIMING.linger / 2, setattr, guard, "_documents", None)

        late_start = guard.run("late", CALM, late, last=True)
        await asyncio.gather(workers.start(guard, "a"), late_start, workers.start(guard, "b"))
        await asyncio.sleep(TIMING.linger * 3)
    guard = await workers.boot()
    assert guard.quarantined("late", CALM)
    assert not guard.quarantined("a", CALM)
    assert not guard.quarantined("b", CALM)


async def test_a_worker_that_stops_leaves_no_suspects(workers: Workers) -> None:
    guard = await workers.boot()
    await workers.start(guard, "a")
    await guard.close()
    assert workers.documents.get("starts") is None


async def test_connectors_start_while_kafka_is_unavailable(workers: Workers) -> None:
    guard = await workers.boot()
    workers.logs.by_topic["j"].away = True
    await workers.start(guard, "a")
    assert workers.starts == ["a"]


async def test_many_starts_are_written_once(workers: Workers) -> None:
    guard = await workers.boot()
    await asyncio.gather(*(workers.start(guard, f"c{number}") for number in range(50)))
    await asyncio.sleep(TIMING.quiet + 0.1)
    assert len(workers.logs.by_topic["j"].written) <= 3
    assert workers.documents.get("starts") is None
