"""Operations: what was asked of the cluster, from the request to the state that was then observed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from shlex import quote
from typing import TYPE_CHECKING

from tui.cluster.snapshot import Snapshot
from tui.formatting import counted
from tui.model import Connector
from tui.scrubbing import scrubbed, without_user

if TYPE_CHECKING:
    from tui.client.client import ApiCall
    from tui.errors import HeadraceError

TIME_LIMIT = 60.0  # seconds from acceptance to the state being seen
RESTARTING = 1.0  # seconds in which the state seen may be the one from before a restart
SETTLING = 2.0  # a failure seen earlier than this may be the old one


class Phase(Enum):
    """How far it came; the value is the word shown."""

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
    """One of them. `goal` is the state waited for, DELETED, or empty when the answer itself is the end."""

    id: int
    verb: str
    target: str
    goal: str
    lines: tuple[str, ...]  # the same as script lines
    doing: str  # `stopping`
    started: float
    phase: Phase = Phase.REQUESTED
    accepted_at: float = 0.0
    ended_at: float = 0.0
    notes: list[tuple[float, str]] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    doubtful: bool = False  # the server calls it a possible success only
    error: HeadraceError | None = None  # what the request ended with

    @property
    def title(self) -> str:
        return f"{self.verb} {self.target}"

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
    """The log of this session, the newest last. `changed` hears of each step."""

    def __init__(self, clock: Callable[[], float], changed: Callable[[Operation], None]) -> None:
        self._clock, self._changed = clock, changed
        self.log: list[Operation] = []
        self._open: dict[int, Operation] = {}  # by id; the log of a long session is not searched for each row

    def begin(self, verb: str, target: str, *, goal: str = "", lines: tuple[str, ...] = (), doing: str) -> Operation:
        operation = Operation(len(self.log) + 1, verb, target, goal, lines, doing, self._clock())
        self.log.append(operation)
        self._open[operation.id] = operation
        self._step(operation, Phase.REQUESTED, "requested")
        return operation

    def note(self, operation: Operation, text: str) -> None:
        """Something worth saying on the way, such as a 409 that is tried again."""
        if not operation.notes or operation.notes[-1][1] != text:
            operation.notes.append((self._clock(), text))
            self._changed(operation)

    def accepted(self, operation: Operation, said: str = "") -> None:
        operation.accepted_at = self._clock()
        goal = f"waiting for {operation.goal}" if operation.goal else ""
        text = ": ".join(part for part in ("accepted", said or goal) if part)
        self._step(operation, Phase.ACCEPTED, text)
        if not operation.goal:
            self._end(operation, Phase.OBSERVED, said or "done")

    def failed(self, operation: Operation, message: str, error: HeadraceError | None = None) -> None:
        """`message` is the server's own."""
        operation.error = error
        self._end(operation, Phase.FAILED, message)

    def done(self, operation: Operation, said: str) -> None:
        self._end(operation, Phase.OBSERVED, said)

    def pending(self, name: str) -> Operation | None:
        """The newest one that is under way for a connector."""
        return next((one for one in reversed(self._open.values()) if one.target == name), None)

    @property
    def open(self) -> list[Operation]:
        return list(self._open.values())

    def observe(self, snapshot: Snapshot) -> None:
        """Looks for the states that are waited for."""
        for operation in self.open:
            if operation.phase is Phase.ACCEPTED and operation.goal:
                self._look(operation, snapshot)

    def _look(self, operation: Operation, snapshot: Snapshot) -> None:
        now, heard = self._clock(), snapshot.link.heard_at or 0.0
        seen = snapshot.connectors.get(operation.target)
        waited = now - operation.accepted_at
        if operation.verb == "restart" and waited < RESTARTING:
            return
        # An event may come before the answer to the request that caused it.
        fresh = heard >= operation.accepted_at or snapshot.since.get(operation.target, 0.0) >= operation.started
        if (fresh or seen is None) and reached(seen, operation.goal):
            self._end(operation, Phase.OBSERVED, f"observed: {arrived(seen, operation.goal)} after {waited:.1f} s")
        elif seen is not None and operation.goal == "RUNNING" and seen.overall == "FAILED" and waited > SETTLING:
            self._end(operation, Phase.FAILED, f"observed: {described(seen)}; t shows the trace")
        elif waited > TIME_LIMIT:
            self._end(
                operation, Phase.TIMED_OUT, f"not {operation.goal} within {TIME_LIMIT:.0f} s; it is {described(seen)}"
            )

    def _step(self, operation: Operation, phase: Phase, text: str) -> None:
        operation.phase = phase
        operation.notes.append((self._clock(), text))
        self._changed(operation)

    def _end(self, operation: Operation, phase: Phase, text: str) -> None:
        operation.ended_at = self._clock()
        self._open.pop(operation.id, None)
        self._step(operation, phase, text)


def reached(seen: Connector | None, goal: str) -> bool:
    if goal == "DELETED":
        return seen is None
    if seen is None:
        return False
    if goal == "PAUSED":  # a failed task stays FAILED through a pause
        return seen.state == "PAUSED" and all(task.state in ("PAUSED", "FAILED") for task in seen.tasks)
    return seen.is_in(goal)


def arrived(seen: Connector | None, goal: str) -> str:
    """What was reached. A pause leaves failed tasks as they are, and the connector's worst state with them."""
    if goal == "PAUSED" and seen is not None and seen.failed:
        return f"PAUSED; {counted(seen.failed, 'task')} {'stays' if seen.failed == 1 else 'stay'} FAILED"
    return described(seen)


def described(seen: Connector | None) -> str:
    if seen is None:
        return "gone"
    return f"{seen.overall}, {tasks_in_words(seen)}"


def tasks_in_words(one: Connector) -> str:
    """`1/1 tasks`, `0/2 tasks, 1 failed`, `no tasks`."""
    running, comma, failed = one.tasks_text.partition(",")
    return f"{running} tasks{comma}{failed}" if one.tasks else "no tasks"
