"""The services that a slot offers to its tasks, over the channel to the worker."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.api.errors import ConnectError
from runtime.engine.protocol.lease import Lease, LeaseLostError
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.outbox import Outbox
from runtime.logs.formats import MAX_RAW_TRACE, cut_trace
from runtime.model.states import State
from runtime.model.task_errors import TaskLostError
from runtime.model.task_spec import SourceOffset, TaskSpec
from runtime.pipeline.task.log import quiet
from runtime.system import frames

if TYPE_CHECKING:
    from runtime.engine.protocol.messages import StartReply
    from runtime.pipeline.port import OffsetsRead, OffsetText, StartResponse
    from runtime.pipeline.produce.producers import Producers

_MAX_OFFSETS = 100_000  # of a message
_RETRY_DELAY = 1.0  # seconds until a task that must not start yet is placed again


class ChannelHost:
    """Implements the pipeline's SlotHost: reports are sent to the worker."""

    def __init__(self, outbox: Outbox, lease: Lease, worker_ended: Callable[[], bool] = lambda: False) -> None:
        """`worker_ended` tells whether the worker has closed the channel, before the slot's main thread has noticed."""
        self._outbox, self._lease, self._worker_ended = outbox, lease, worker_ended
        self._lock = threading.Lock()
        self._producers: Producers | None = None
        self._commits = itertools.count(1)
        self._responses: dict[int, Callable[[str | None], None]] = {}
        self._readers: dict[int, Callable[[OffsetsRead], None]] = {}
        self._starts: dict[int, Callable[[StartResponse], None]] = {}

    def check_lease(self) -> None:
        """LeaseLostError if the lease has expired, or if the worker has ended: another one may run its tasks at once,
        and this process may have been stopped meanwhile (SIGSTOP)."""
        self._lease.check()
        if self._worker_ended():
            raise LeaseLostError("the worker has ended")

    @property
    def producers(self) -> Producers:
        """The slot's shared producers, created on first use."""
        with self._lock:
            if self._producers is None:
                from runtime.pipeline.produce.producers import Producers

                self._producers = Producers()
            return self._producers

    def state(self, spec: TaskSpec, state: State, trace: str | None = None, client_failed: bool = False) -> None:
        trace = None if trace is None else cut_trace(trace, MAX_RAW_TRACE)
        self._outbox.put({"op": "state", **about(spec), "state": state, "trace": trace, "client_failed": client_failed})

    def topic(self, spec: TaskSpec, topic: str) -> None:
        self._outbox.put({"op": "topic", **about(spec), "topic": topic})

    def member(self, spec: TaskSpec, member_id: str) -> None:
        self._outbox.put({"op": "member", **about(spec), "member_id": member_id})

    def offsets(self, spec: TaskSpec, records: Sequence[OffsetText], answered: Callable[[str | None], None]) -> None:
        """Stored in parts, in any of which a commit may end: the offset of each source partition stands for itself."""
        try:
            parts = list(frames.parts(records, lambda record: filter(None, record), _MAX_OFFSETS))
        except frames.FrameError as e:
            raise ConnectError(f"Offsets cannot be committed: {e}") from None
        errors: list[str | None] = []

        def part_answered(error: str | None) -> None:
            errors.append(error)
            if len(errors) == len(parts):
                answered(next(filter(None, errors), None))

        for part in parts:
            number = next(self._commits)
            self._responses[number] = part_answered
            self._outbox.put({"op": "offsets", **about(spec), "number": number, "records": part})

    def offsets_stored(self, number: int, error: str | None) -> None:
        """The worker has stored the offsets of this commit, or has failed with `error`."""
        self._responses.pop(number)(error)

    def read_offsets(self, spec: TaskSpec, partitions: Sequence[str], answered: Callable[[OffsetsRead], None]) -> None:
        number = next(self._commits)
        self._readers[number] = answered
        self._outbox.put({"op": "read_offsets", **about(spec), "number": number, "partitions": partitions})

    def offsets_read(self, number: int, offsets: OffsetsRead) -> None:
        """The worker has read these offsets, or could not."""
        self._readers.pop(number)(offsets)

    def confirm_start(self, spec: TaskSpec, answered: Callable[[StartResponse], None]) -> None:
        number = next(self._commits)
        self._starts[number] = answered
        self._outbox.put({"op": "confirm_start", **about(spec), "number": number})

    def start_confirmed(self, reply: StartReply) -> None:
        """The worker has checked whether the task may start."""
        answered, error = self._starts.pop(reply["number"]), reply["error"]
        if error is None:
            answered([SourceOffset(**offset) for offset in reply["offsets"]])
        else:
            answered(ConnectError(error) if reply["final"] else TaskLostError(error, _RETRY_DELAY))

    def no_room(self, spec: TaskSpec, reason: str) -> None:
        """The task was not started: this slot has no room for it."""
        self._outbox.put({"op": "no_room", **about(spec), "reason": reason})

    def ended(self, spec: TaskSpec) -> None:
        """The task's thread has ended. The last report of this run."""
        self._outbox.put({"op": "ended", **about(spec)})

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        self._outbox.log(level, logger, message, context)


class SlotLogHandler(logging.Handler):
    """Sends lines logged outside of tasks' threads to the worker; task_log() sends those of tasks, with their names."""

    def __init__(self, host: ChannelHost) -> None:
        super().__init__()
        self._host = host
        self.addFilter(quiet)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = {"WARNING": "WARN", "CRITICAL": "FATAL"}.get(record.levelname, record.levelname)
            self._host.log(level, record.name, self.format(record), "")
        except Exception:
            self.handleError(record)
