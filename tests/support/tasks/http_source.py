"""HttpSource without a worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from runtime.api.data.record import SourceRecord
from runtime.connectors.http.source.task import HttpSourceTask
from tests.support.tasks.task_contexts import StoredOffsets, started

COMMON = {"topic": "t", "http.poll.interval.ms": "20", "http.retry.backoff.ms": "10"}


@contextmanager
def source(
    url: str, offsets: StoredOffsets | None = None, task: HttpSourceTask | None = None, /, **config: str
) -> Iterator[HttpSourceTask]:
    """A started task."""
    task = started(task or HttpSourceTask(), COMMON | {"http.url": url} | config, offsets)
    try:
        yield task
    finally:
        task.stop()


def take(task: HttpSourceTask, count: int) -> list[SourceRecord]:
    """The next records, whole batches."""
    records: list[SourceRecord] = []
    until = time.monotonic() + 10
    while len(records) < count and time.monotonic() < until:
        records += task.poll() or ()
    return records


def ids(records: list[SourceRecord]) -> list[Any]:
    """The ids of records."""
    return [record.value["id"] for record in records]


def check_every_restart(
    url: str, expected: list[Any], make: Callable[[], HttpSourceTask] = HttpSourceTask, /, **config: str
) -> None:
    """Reads these ids; with the offsets that are committed after each poll, another task reads exactly the rest."""
    stored, read = StoredOffsets(), list[Any]()
    history = [(0, list(stored.stored))]
    with source(url, stored, make(), **config) as task:
        while len(read) < len(expected):
            records = take(task, 1)
            assert records, f"only {read} have arrived"
            stored.commit(records)
            read += ids(records)
            history.append((len(read), list(stored.stored)))
    assert read == expected
    for count, offsets in history[:-1]:
        with source(url, StoredOffsets(offsets), make(), **config) as task:
            assert ids(take(task, len(expected) - count)) == expected[count:], offsets
