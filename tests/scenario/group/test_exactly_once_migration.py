"""Exactly-once support is enabled in a running group by two rolling restarts, and survives a takeover from Apache's
workers and back: every line of growing files arrives exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.scenario.group.test_exactly_once import ENABLED, Source
from tests.support.broker import KafkaBroker
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

SUPPORT = "exactly.once.source.support"
MIXED = {"headrace.mixed.group": "true", **ENABLED}
SOURCES = 3


@contextmanager
def growing(sources: Sequence[Source]) -> Iterator[None]:
    """Appends lines to the sources' files for the length of the block."""
    end = threading.Event()

    def feed() -> None:
        while not end.wait(0.05):
            for source in sources:
                source.write(1)

    feeder = threading.Thread(target=feed, name="feeder")
    feeder.start()
    try:
        yield
    finally:
        end.set()
        feeder.join()


def create(group: WorkerGroup, folder: Path) -> list[Source]:
    sources = []
    for number in range(SOURCES):
        place = folder / str(number)
        place.mkdir()
        sources.append(Source(group, place))
        sources[-1].create()
    return sources


def replace(group: WorkerGroup, before: WorkerProcess, make: Callable[[], WorkerProcess]) -> WorkerProcess:
    """Stops a worker in an orderly way and starts another one in its place."""
    assert group.stop(before) in (0, 143)  # a JVM's exit code after SIGTERM
    after = make()
    group.start(after)
    return after


def change(group: WorkerGroup, sources: Sequence[Source]) -> None:
    """Writes new task configs for all sources, and their current offsets again. The leader must fence earlier tasks and
    remove the statuses of stopped ones, whichever implementation the leader and the owners have."""
    counts = [len(source.config_records("tasks-fencing")) for source in sources]
    for source, count in zip(sources, counts, strict=True):
        group.connect.ask("PATCH", f"/connectors/{source.name}/config", {"marked": str(count)})
    wait_until(
        lambda: all(len(s.config_records("tasks-fencing")) > n for s, n in zip(sources, counts, strict=True)), 60
    )
    names = [source.name for source in sources]
    group.wait_running(names, 60)
    for name, source in zip(names, sources, strict=True):
        group.connect.stop(name)
        group.connect.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": group.connect.offsets(name)})
        assert source.config_records("tasks-fencing")[-1] == {"task-count": 0}
        group.connect.resume(name)


def has_more_counts(source: Source, than: int) -> bool:
    return len(source.config_records("tasks-fencing")) > than


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_two_rolling_restarts_enable_exactly_once_support(broker: KafkaBroker, tmp_path: Path) -> None:
    with worker_group(tmp_path, broker, {"headrace.slots": "1"}) as group:
        members = [group.ours(), group.ours()]
        group.start(*members)
        sources = create(group, tmp_path)
        names = [source.name for source in sources]
        with growing(sources):
            for support in ("preparing", "enabled"):
                for number, member in enumerate(members):
                    members[number] = replace(group, member, partial(group.ours, {SUPPORT: support}))
                    group.wait_running(names, 60)
                counts = [source.config_records("tasks-fencing") for source in sources]
                assert all(counts) if support == "enabled" else not any(counts)
        for source in sources:
            source.check()


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_apache_workers_with_exactly_once_support_are_replaced_and_return(broker: KafkaBroker, tmp_path: Path) -> None:
    with worker_group(tmp_path, broker, {SUPPORT: "enabled"}) as group:
        members = [group.java(), group.java()]
        group.start(*members)
        sources = create(group, tmp_path)
        names = [source.name for source in sources]
        makers: tuple[Callable[[], WorkerProcess], ...] = (lambda: group.ours(MIXED), group.java)
        with growing(sources):
            for make in makers:
                for number, member in enumerate(members):
                    members[number] = replace(group, member, make)
                    group.wait_running(names, 90)
                    change(group, sources)
        for source in sources:
            source.check()
