"""Operations of this session: each change from its request to the observed state."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from shlex import quote
from typing import TYPE_CHECKING

from tui.cluster.snapshot import Snapshot
from tui.goals import (
    FAILURE_DELAY,
    RESTART_DELAY,
    RESTARTS,
    SETTLING,
    TIME_LIMIT,
    cause,
    described,
    described_goal,
    part,
    reached,
)
from tui.scrubbing import scrubbed, without_user

if TYPE_CHECKING:
    from tui.client.calls import ApiCall
    from tui.errors import HeadraceError
    from tui.model import Connector


RESPONSE_DELAY = 5.0  # seconds in which the response to a request is awaited, whatever is observed meanwhile


class Phase(Enum):
    """The phase of an operation; the value is the word shown."""

    REQUESTED = "requested"
    ACCEPTED = "accepted"
    OBSERVED = "observed"
    FAILED = "failed"
    TIMED_OUT = "timed out"

    @property
    def is_open(self) -> bool:
        return self in (Phase.REQUESTED, Phase.ACCEPTED)

    @property
    def is_bad(self) -> bool:
        return self in (Phase.FAILED, Phase.TIMED_OUT)


GLYPHS = {
    Phase.REQUESTED: "→",
    Phase.ACCEPTED: "…",
    Phase.OBSERVED: "✓",
    Phase.FAILED: "✗",
    Phase.TIMED_OUT: "!",
}


@dataclass(slots=True)
class Operation:
    """One operation. `goal` is the state to wait for, DELETED, or empty if the response ends the operation."""

    id: int
    verb: str
    target: str
    goal: str
    lines: tuple[str, ...]  # the script lines that do the same
    doing: str  # shown in the list meanwhile, for example `stopping`
    started: float  # seconds since 1970
    since: float = 0.0  # the time of the last change of the target before it, by the worker's clock
    task: int | None = None  # the task of the target, if it is the only one concerned
    begun_at: float = 0.0  # on the monotonic clock, as `heard_at` of a ClusterLink and the next
    phase: Phase = Phase.REQUESTED
    accepted_at: float = 0.0
    notes: list[tuple[float, str]] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    doubtful: bool = False  # the server reports a possible success only
    error: HeadraceError | None = None  # the error that ended the request
    changed: str = ""  # what has taken effect, even if the connector fails again afterwards
    result: str = ""  # the observed failure without its cause, for pages that show the cause anyway

    @property
    def title(self) -> str:
        return f"{self.verb} {self.target}".rstrip() + ("" if self.task is None else f"/{self.task}")

    @property
    def last(self) -> str:
        return self.notes[-1][1] if self.notes else self.phase.value

    def curl(self, url: str) -> list[str]:
        return [as_curl(url, call) for call in self.calls if call.changes]


def as_curl(url: str, call: ApiCall) -> str:
    words = ["curl", "-sS", "-X", call.method, quote(without_user(url).rstrip("/") + call.path)]
    for name, value in call.headers:
        words += ["-H", quote(f"{name}: {value.encode('latin-1').decode('utf-8', 'replace')}")]
    if call.body is not None:
        words += ["-H", quote("Content-Type: application/json"), "-d", quote(json.dumps(scrubbed(call.body)))]
    return " ".join(words)


class Operations:
    """The log of this session, the newest last. `changed` is called after each step.

    Waiting times are those of `clock`, which is monotonic; the log has the times of `wall_clock`."""

    def __init__(
        self,
        changed: Callable[[Operation], None],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._changed, self._clock, self._wall_clock = changed, clock, wall_clock
        self.log: list[Operation] = []
        self._open: dict[int, Operation] = {}  # by id, so that drawing a row does not search the whole log
        self._settling: dict[int, tuple[Operation, float]] = {}  # by id; the time when RUNNING was observed
        self._since: Mapping[str, float] = {}  # of the latest snapshot

    def begin(
        self,
        verb: str,
        target: str,
        *,
        goal: str = "",
        lines: tuple[str, ...] = (),
        doing: str,
        task: int | None = None,
    ) -> Operation:
        since = self._since.get(target, 0.0)
        operation = Operation(
            len(self.log) + 1, verb, target, goal, lines, doing, self._wall_clock(), since, task, self._clock()
        )
        self.log.append(operation)
        self._open[operation.id] = operation
        for other, _ in list(self._settling.values()):
            if other.target == target and (task is None or other.task in (None, task)):
                del self._settling[other.id]
        self._step(operation, Phase.REQUESTED, "requested")
        return operation

    def note(self, operation: Operation, text: str) -> None:
        """Adds a note to an open operation, for example that a request is retried after a 409."""
        if not operation.notes or operation.notes[-1][1] != text:
            operation.notes.append((self._wall_clock(), text))
            self._changed(operation)

    def accepted(self, operation: Operation, message: str = "") -> None:
        if not operation.phase.is_open:  # observed before the response
            return
        operation.accepted_at = self._clock()
        goal = f"waiting for {operation.goal}" if operation.goal else ""
        text = ": ".join(part for part in ("accepted", message or goal) if part)
        self._step(operation, Phase.ACCEPTED, text)
        if not operation.goal:
            self._end(operation, Phase.OBSERVED, message or "done")

    def failed(self, operation: Operation, message: str, error: HeadraceError | None = None) -> None:
        """Ends an operation with an error; `message` is the server's."""
        if not operation.phase.is_open:  # observed without a response
            return
        operation.error = error
        self._end(operation, Phase.FAILED, message)

    def done(self, operation: Operation, message: str) -> None:
        """Ends an operation that has no state to wait for."""
        if not operation.phase.is_open:  # observed without a response
            return
        self._end(operation, Phase.OBSERVED, message)

    def pending(self, name: str) -> Operation | None:
        """The newest open operation of a connector."""
        return next((operation for operation in reversed(self._open.values()) if operation.target == name), None)

    @property
    def open(self) -> list[Operation]:
        return list(self._open.values())

    def observe(self, snapshot: Snapshot) -> None:
        """Ends operations whose goal the snapshot shows, and those that failed or timed out."""
        self._since = snapshot.since
        for operation in self.open:
            if operation.phase is Phase.ACCEPTED and operation.goal:
                self._look(operation, snapshot)
            elif operation.goal:
                self._look_early(operation, snapshot)
        for operation, since in list(self._settling.values()):
            self._look_again(operation, snapshot, self._clock() - since)

    def _look_early(self, operation: Operation, snapshot: Snapshot) -> None:
        """The response may be lost with its connection, while another connection shows that the request arrived."""
        seen, waited = _seen(operation, snapshot), self._clock() - operation.begun_at
        if waited < RESPONSE_DELAY or operation.verb in RESTARTS or not reached(seen, operation.goal):
            return
        if seen is None or snapshot.since.get(operation.target, 0.0) != operation.since:
            self._reached(operation, seen, ", without a response")

    def _reached(self, operation: Operation, seen: Connector | None, note: str = "") -> None:
        """Ends an operation whose goal the snapshot shows."""
        now = self._clock()
        state = described_goal(seen, operation.goal)
        self._end(operation, Phase.OBSERVED, f"observed: {state} after {now - operation.begun_at:.1f} s{note}")
        if operation.goal == "RUNNING":
            self._settling[operation.id] = operation, now

    def _look(self, operation: Operation, snapshot: Snapshot) -> None:
        now, heard_at = self._clock(), snapshot.link.heard_at or 0.0
        seen = _seen(operation, snapshot)
        waited = now - operation.accepted_at
        if operation.verb in RESTARTS and waited < RESTART_DELAY:
            return
        # An event may arrive before the response to the request that caused it. Its time is the worker's, whose clock
        # may differ from this machine's.
        fresh = heard_at >= operation.accepted_at or snapshot.since.get(operation.target, 0.0) != operation.since
        if (fresh or seen is None) and reached(seen, operation.goal):
            self._reached(operation, seen)
        elif seen is not None and operation.goal == "RUNNING" and seen.overall == "FAILED" and waited > FAILURE_DELAY:
            self._end_failed(operation, f"observed: {described(seen)}", seen)
        elif waited > TIME_LIMIT:
            self._end(
                operation, Phase.TIMED_OUT, f"not {operation.goal} within {TIME_LIMIT:.0f} s; now {described(seen)}"
            )

    def _look_again(self, operation: Operation, snapshot: Snapshot, waited: float) -> None:
        """A start may fail a moment after the connector was RUNNING: with its first records, for example."""
        seen = _seen(operation, snapshot)
        if seen is None or waited > SETTLING:
            del self._settling[operation.id]
        elif seen.overall == "FAILED":
            again = "again " if operation.verb in RESTARTS else ""
            self._end_failed(operation, f"failed {again}after {max(waited, 1):.0f} s: {described(seen)}", seen)
            del self._settling[operation.id]

    def _end_failed(self, operation: Operation, result: str, seen: Connector) -> None:
        operation.result = result
        text = f"{operation.changed}, but {result}{cause(seen)}" if operation.changed else f"{result}{cause(seen)}"
        self._end(operation, Phase.FAILED, f"{text}; t shows the trace")

    def _step(self, operation: Operation, phase: Phase, text: str) -> None:
        operation.phase = phase
        operation.notes.append((self._wall_clock(), text))
        self._changed(operation)

    def _end(self, operation: Operation, phase: Phase, text: str) -> None:
        self._open.pop(operation.id, None)
        self._step(operation, phase, text)


def _seen(operation: Operation, snapshot: Snapshot) -> Connector | None:
    """The connector of the operation, as far as the operation concerns it; None if it does not exist."""
    connector = snapshot.connectors.get(operation.target)
    return connector and part(connector, operation.task)
