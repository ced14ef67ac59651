"""Commits sent to the worker through the slot's channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.pipeline.port import OffsetText
from runtime.pipeline.source.at_least_once import WorkerKeptOffsets

KEY = b'["c",{"filename":"/f"}]'


class Worker:
    """The host of a task: stores offsets, and answers when the test requests it."""

    def __init__(self) -> None:
        self.asked: list[Sequence[OffsetText]] = []
        self.answer: Callable[[str | None], None] = lambda error: None

    def offsets(self, spec: Any, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        self.asked.append(records)
        self.answer = answered


def writer(worker: Worker) -> WorkerKeptOffsets:
    return WorkerKeptOffsets(worker, None)  # type: ignore[arg-type]


def test_a_commit_is_finished_once_the_worker_has_stored_it() -> None:
    worker = Worker()
    kept = writer(worker)
    kept.write({KEY: {"position": 7}, b'["c",{}]': None})
    assert worker.asked == [[(KEY.decode(), '{"position":7}'), ('["c",{}]', None)]]
    assert (kept.busy, kept.finished()) == (True, False)
    worker.answer(None)
    assert (kept.finished(), kept.busy, kept.finished()) == (True, False, False)


def test_the_offsets_of_a_failed_commit_are_returned_once() -> None:
    worker = Worker()
    kept = writer(worker)
    kept.write({KEY: {"position": 7}})
    worker.answer("No space left on device")
    assert not kept.finished()
    assert kept.failed() == {KEY: {"position": 7}}
    assert (kept.failed(), kept.busy) == ({}, False)
    kept.write({KEY: {"position": 8}})
    worker.answer(None)
    assert kept.finished()
