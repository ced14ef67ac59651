"""The child process: runs one task with the worker's own pipeline until it is killed or stopped.

A source's records get a header with their mark and are returned in small batches, so that a kill arrives in the middle.
A sink's task waits after each put(), for the same reason. Output: lines `RUNNING`, `POLLS n` every ten polls, `PUT n`
after n records have been put, `FAILED` with the trace as JSON. SIGTERM stops the task."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.model.states import ConnectorType, State
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.load import load_task
from runtime.pipeline.port import OffsetsRead, OffsetText, StartResponse
from runtime.pipeline.produce.producers import Producers
from runtime.pipeline.sink.sink_task import SinkWorker
from runtime.pipeline.source.source_task import SourceWorker
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import trace_of
from runtime.pipeline.task_forms import as_sink, as_source
from runtime.plugin_kit.conformance.marks import mark

MARK = "headrace.conformance.mark"
"""The header with the mark of a record."""

_PIECES = 25  # parts into which the example's records are divided
_DELAY = 0.02  # seconds between them
_REPORTED_POLLS = 10


class ChildHost:
    """A SlotHost that reports states as lines on standard output."""

    def __init__(self) -> None:
        self.producers = Producers()

    def state(self, spec: TaskSpec, state: State, trace: str | None = None, client_failed: bool = False) -> None:
        say(state.value)

    def topic(self, spec: TaskSpec, topic: str) -> None:
        """Not used."""

    def member(self, spec: TaskSpec, member_id: str) -> None:
        """Not used."""

    def offsets(self, spec: TaskSpec, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        answered("these tasks write their offsets to a topic")

    def read_offsets(self, spec: TaskSpec, partitions: Sequence[str], answered: Callable[[OffsetsRead], None]) -> None:
        answered("offsets can be read in start() only, since there is no worker")

    def confirm_start(self, spec: TaskSpec, answered: Callable[[StartResponse], None]) -> None:
        answered(spec.offsets)

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        print(level, logger, message, file=sys.stderr, flush=True)

    def check_lease(self) -> None:
        """The lease of this process never ends."""


def say(line: str) -> None:
    """Report to the parent process."""
    print(line, flush=True)


def slowed_source(task: Any, piece: int) -> None:
    """Makes poll() return at most `piece` records, each with its mark."""
    rest: list[SourceRecord] = []
    poll, polls = task.poll, 0

    def next_piece() -> list[SourceRecord]:
        nonlocal polls
        polls += 1
        if polls % _REPORTED_POLLS == 0:
            say(f"POLLS {polls}")
        if not rest:
            rest.extend(marked(record) for record in poll() or ())
        if rest:
            time.sleep(_DELAY)
        taken = rest[:piece]
        del rest[:piece]
        return taken

    task.poll = next_piece


def marked(record: SourceRecord) -> SourceRecord:
    """A copy with its mark in a header."""
    record = record.copy()
    record.headers = [*(record.headers or ()), (MARK, STRING_SCHEMA, json.dumps(mark(record)))]
    return record


def slowed_sink(task: Any) -> None:
    """Reports and delays every put()."""
    count = 0
    put = task.put

    def put_slowly(records: Sequence[SinkRecord]) -> None:
        nonlocal count
        put(records)
        count += len(records)
        if len(records):
            say(f"PUT {count}")
            time.sleep(_DELAY)

    task.put = put_slowly


def run_task(spec: TaskSpec, records: int) -> int:
    """Runs the task of this specification to its end; returns the exit code of the process."""
    control = TaskControl(False, lambda: None)
    signal.signal(signal.SIGTERM, lambda *_: control.stop())
    errors: list[BaseException] = []

    def run() -> None:
        try:
            _run(spec, control, records)
        except BaseException as error:  # any end of the task other than a return is reported
            errors.append(error)

    thread = threading.Thread(target=run, name="task")
    thread.start()
    while thread.is_alive():
        thread.join(0.1)  # signals are handled between two waits
    if errors:
        say("FAILED " + json.dumps(trace_of(errors[0])))
    return len(errors)


def _run(spec: TaskSpec, control: TaskControl, records: int) -> None:
    task = load_task(spec)
    if spec.type == ConnectorType.SOURCE:
        source = as_source(task, control, str(spec.id))
        slowed_source(source, max(1, records // _PIECES))
        SourceWorker(spec, source, ChildHost(), control).run()
    else:
        sink = as_sink(task, control, str(spec.id))
        slowed_sink(sink)
        SinkWorker(spec, sink, ChildHost(), control).run()
