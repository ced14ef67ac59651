"""Merges into one table."""

from __future__ import annotations

import threading

import pytest
from pyspark.errors import PySparkException

from runtime.engine.driver.session.merge_turns import in_turn
from tests.support.waiting import wait_until

CONFLICT = "io.delta.exceptions.ConcurrentAppendException: Files were added by a concurrent update"


def test_two_merges_into_a_table_follow_each_other() -> None:
    running, most, may_end = list[int](), list[int](), threading.Event()

    def merge() -> None:
        running.append(1)
        most.append(len(running))
        may_end.wait(5)
        running.pop()

    threads = [threading.Thread(target=in_turn, args=(table, merge)) for table in ("a", "a", "b")]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(running) == 2, 5, "merges into two tables")
    may_end.set()
    for thread in threads:
        thread.join(5)
    assert max(most) == 2
    assert len(most) == 3


def test_a_merge_is_repeated_after_a_conflict_and_after_no_other_error() -> None:
    errors = [PySparkException(CONFLICT), PySparkException(CONFLICT)]
    delays: list[int] = []

    def merge() -> None:
        if errors:
            raise errors.pop()

    def delay(attempt: int) -> float:
        delays.append(attempt)
        return 0

    in_turn("a", merge, delay)
    assert delays == [1, 2]
    errors.append(PySparkException("disk full"))
    with pytest.raises(PySparkException, match="disk full"):
        in_turn("a", merge, delay)
