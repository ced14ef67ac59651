"""The last restart of a task: by the worker's policy, by this console, or by another one on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.goals import RESTARTS
from tui.screens.services.operations import Operation, Phase

if TYPE_CHECKING:
    from tui.client.responses import RestartsResponse

KINDS = {Phase.OBSERVED: "good", Phase.FAILED: "bad", Phase.TIMED_OUT: "warn"}
Json = Any


class LastRestart(NamedTuple):
    """A restart of a task, or of its connector with the tasks (`task` is None).

    `at`: seconds since 1970; `kind`: of the status line.
    """

    at: float
    by: str
    task: int | None
    result: str
    kind: str = ""


class KnownRestarts(NamedTuple):
    """The restarts of a connector and its tasks that are known here."""

    log: Sequence[Operation]  # of this console
    logged: Iterable[Mapping[str, Json]] = ()  # in the audit log of this machine
    automatic: RestartsResponse | None = None  # of a Headrace worker

    def last(self, connector: str, *units: int | None) -> LastRestart | None:
        """The last restart that concerned one of these tasks; None stands for the connector itself."""
        return newest(
            restart
            for unit in units
            for restarts in (
                of_operations(self.log, connector, unit),
                of_audit_log(self.logged, self.log, connector, unit),
                of_worker(self.automatic, unit),
            )
            for restart in restarts
        )


def newest(restarts: Iterable[LastRestart]) -> LastRestart | None:
    """The last one; None if no restart is known."""
    return max(restarts, key=lambda restart: restart.at, default=None)


def of_operations(log: Iterable[Operation], connector: str, task: int | None) -> Iterator[LastRestart]:
    """Restarts by this console."""
    for operation in log:
        if operation.target == connector and operation.verb in RESTARTS and operation.task in (None, task):
            kind = KINDS.get(operation.phase, "busy")
            yield LastRestart(operation.started, "you", operation.task, operation.last, kind)


def of_audit_log(
    entries: Iterable[Mapping[str, Json]], log: Iterable[Operation], connector: str, task: int | None
) -> Iterator[LastRestart]:
    """Restarts by other consoles and scripts of this machine; those of this console are in its operations."""
    own = [(operation.started, operation.notes[-1][0] + 1) for operation in log if operation.target == connector]
    for entry in entries:
        at = entry["at"]
        if entry["task"] in (None, task) and not any(start - 1 <= at <= end for start, end in own):
            error = entry.get("error")
            result, kind = (f"refused: {error}", "bad") if error else ("accepted", "")
            yield LastRestart(at, f"{entry['who']} ({entry['from']})", entry["task"], result, kind)


def of_worker(response: RestartsResponse | None, task: int | None) -> Iterator[LastRestart]:
    """Automatic restarts by a Headrace worker."""
    for unit in response["units"] if response else ():
        history = unit["history"]
        for number, past in enumerate(history):
            if unit["task"] == task and (restarted := past.get("restarted")):
                later = history[number - 1] if number else None
                result, kind = (f"failed again: {later['error']}", "bad") if later else ("carried out", "")
                by = f"the worker, automatic restart {past['attempt']}"
                yield LastRestart(restarted / 1000, by, task, result, kind)
