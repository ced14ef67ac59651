"""A slot host for tests of the pipeline that records the reports of tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from runtime.kafka.formats import canonical
from runtime.model.states import State
from runtime.model.task_spec import SourceOffset, TaskSpec
from runtime.pipeline.port import OffsetsRead, OffsetText, StartResponse
from runtime.pipeline.produce.producers import Producers
from runtime.pipeline.runner import TaskRunner
from runtime.pipeline.task.failure import RevokedError
from tests.support.waiting import wait_until


class RecordingHost:
    """A SlotHost whose lease the test can end."""

    def __init__(self, committed: Callable[[TaskSpec], Sequence[SourceOffset]] = lambda spec: ()) -> None:
        """`committed` returns the offsets that a worker would read now."""
        self._committed = committed
        self.producers = Producers()
        self.states: list[State] = []
        self.trace = ""
        self.topics: list[str] = []
        self.members: list[str] = []
        self.lines: list[str] = []
        self.lease_over = False
        self.refusal: Exception | None = None
        """The answer to each task that asks whether it may start."""

    def state(self, spec: TaskSpec, state: State, trace: str | None = None, client_failed: bool = False) -> None:
        self.states.append(state)
        self.trace = trace or self.trace

    def topic(self, spec: TaskSpec, topic: str) -> None:
        self.topics.append(topic)

    def offsets(self, spec: TaskSpec, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        raise AssertionError("these tasks store their offsets themselves")

    def read_offsets(self, spec: TaskSpec, partitions: Sequence[str], answered: Callable[[OffsetsRead], None]) -> None:
        found = {canonical(known.partition): known.offset for known in self._committed(spec)}
        answered([found.get(partition) for partition in partitions])

    def confirm_start(self, spec: TaskSpec, answered: Callable[[StartResponse], None]) -> None:
        answered(self.refusal or spec.offsets)

    def member(self, spec: TaskSpec, member_id: str) -> None:
        self.members.append(member_id)

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        self.lines.append(f"{level} {logger} {context} {message}")

    def check_lease(self) -> None:
        if self.lease_over:
            raise RevokedError("the lease has expired")


class RunningTask:
    """A task that runs on its own thread."""

    def __init__(self, spec: TaskSpec, host: RecordingHost | None = None) -> None:
        self.host = host or RecordingHost()
        self.runner = TaskRunner(spec, self.host)
        self._thread = threading.Thread(target=self.runner.run, name=f"task-{spec.id}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, seconds: float = 30.0) -> None:
        self._thread.join(seconds)
        assert not self.alive, "the task did not end"

    def stop(self, seconds: float = 30.0) -> None:
        """Stops the task gracefully, and waits for its end."""
        self.runner.stop()
        self.join(seconds)

    def wait_state(self, state: State, seconds: float = 30.0) -> None:
        wait_until(
            lambda: self.host.states[-1:] == [state] or (State.FAILED in self.host.states and self.host.trace), seconds
        )
        assert self.host.states[-1] == state, self.host.trace
