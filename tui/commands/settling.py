"""The result of a change: connectors are observed after a request until their states show it.

A stopped or paused connector is observed until it is in this state. One that was started is observed for another
`--settle`, since a start may fail with its first records. All targets of a command are observed at the same time, and
each only for as long as something can be learned: until it fails, or not at all if it remains PAUSED or STOPPED.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tui import goals, model
from tui.commands.arguments import Argument, duration, option
from tui.commands.context import CommandContext
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.targets import noted_on_interrupt
from tui.errors import FAILED, TIMED_OUT, HeadraceError, NotFound, naming

if TYPE_CHECKING:
    from tui.client.client import Connect

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0  # seconds between two requests
STARTED = "STARTED"
"""The goal of a change that restarts what runs: RUNNING, unless the connector is PAUSED or STOPPED and remains so."""


def settle_option() -> Argument[float | None]:
    """The option of all commands that report such a result."""
    help = "time for which what was started must not fail, by default 10s; 0s returns after the response"
    return option("--settle", metavar="TIME", help=help, convert=duration)


def usual_settling() -> float:
    """The seconds of --settle, if a command does not give them. Raises UsageError for an invalid HEADRACE_SETTLE."""
    text = os.environ.get("HEADRACE_SETTLE", "")
    with naming("HEADRACE_SETTLE"):
        return duration(text) if text else goals.SETTLING


class Goal(NamedTuple):
    """The state that a target must reach: RUNNING, PAUSED, STOPPED or STARTED; only `task`, if given."""

    state: str
    connector: str = ""  # its name, if it is not that of the target
    task: int | None = None


class _Watched:
    """A target, its last state, and when it reached its goal."""

    def __init__(self, outcome: TargetOutcome, goal: Goal) -> None:
        self.outcome, self.goal = outcome, goal
        self.seen: model.Connector | None = None
        self.missing = "no status yet"
        self.has_started = False  # whether another state than FAILED was seen
        self.reached_at: float | None = None

    @property
    def name(self) -> str:
        return self.goal.connector or self.outcome.name

    @property
    def state(self) -> str:
        return goals.described(self.seen) if self.seen is not None else self.missing

    def look(self, seen: model.Connector, waited: float, settle: float) -> TargetOutcome | None:
        """The outcome, once it is known; `waited`: seconds since the response."""
        self.seen = seen = goals.part(seen, self.goal.task)
        remains = self.goal.state == STARTED and seen.state in ("PAUSED", "STOPPED")
        state = "RUNNING" if self.goal.state == STARTED else self.goal.state
        if remains or (goals.reached(seen, state) and state != "RUNNING"):
            return self._done(goals.described_goal(seen, seen.state))
        if seen.overall == "FAILED":
            return self._failed(waited) if self.has_started or waited > goals.FAILURE_DELAY else None
        self.has_started = True
        if not goals.reached(seen, state):
            self.reached_at = None
            return None
        self.reached_at = waited if self.reached_at is None else self.reached_at
        # The state may be older than the request at first.
        has_lasted = waited - self.reached_at >= settle and waited >= goals.RESTART_DELAY
        return self._done(goals.described(seen)) if has_lasted else None

    def _done(self, state: str) -> TargetOutcome:
        return self.outcome._replace(message=f"{self.outcome.message}; {state}")

    def _failed(self, waited: float) -> TargetOutcome:
        assert self.seen is not None
        text = f"{self.outcome.message}, but failed after {waited:.0f} s: {self.state}{goals.cause(self.seen)}"
        return TargetOutcome(self.outcome.name, text, FAILED)

    def timed_out(self, limit: float) -> TargetOutcome:
        state = "RUNNING" if self.goal.state == STARTED else self.goal.state
        text = f"{self.outcome.message}, but not {state} within {limit:g} s: {self.state}"
        return TargetOutcome(self.outcome.name, text, TIMED_OUT)


async def settled(
    context: CommandContext,
    result: Result,
    wanted: Mapping[str, Goal],
    settle: float | None,
    connect: Connect | None = None,
) -> Result:
    """The result with the states that were observed; `wanted` has the goals of the targets that were changed, by the
    name of their outcome. `connect` is the client of another cluster that was changed."""
    seconds = context.settling if settle is None else settle
    changed = [outcome for outcome in result.outcomes if not outcome.failed and outcome.name in wanted]
    if not seconds or not changed:
        return result
    watched = [_Watched(outcome, wanted[outcome.name]) for outcome in changed]
    with noted_on_interrupt(result.outcomes):
        outcomes = await _observe(context, connect or context.cluster.connect, watched, seconds)
    return confirmation([outcomes.get(outcome.name, outcome) for outcome in result.outcomes])


async def _observe(
    context: CommandContext, connect: Connect, watched: list[_Watched], settle: float
) -> dict[str, TargetOutcome]:
    outcomes: dict[str, TargetOutcome] = {}
    started, pause, limit = context.clock(), FIRST_PAUSE, goals.TIME_LIMIT + settle
    single, reported = watched[0] if len(watched) == 1 else None, ""
    while watched:
        await _look(connect, watched)
        waited = context.clock() - started
        for target in watched:
            outcome = target.look(target.seen, waited, settle) if target.seen is not None else None
            if outcome is None and waited > limit:
                outcome = target.timed_out(limit)
            if outcome is not None:
                outcomes[target.outcome.name] = outcome
        watched = [target for target in watched if target.outcome.name not in outcomes]
        if watched and single is not None and single.state != reported:
            reported = single.state
            context.terminal.report(f"{single.outcome.name}: {reported}")
        if watched:
            await connect.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)
    return outcomes


async def _look(connect: Connect, watched: list[_Watched]) -> None:
    """Reads the states, in one request if there are several. Errors are not final: a worker may be restarting."""
    try:
        seen, missing = await _states(connect, {target.name for target in watched}), "no status yet"
    except HeadraceError as error:
        seen, missing = {}, error.message
    for target in watched:
        target.seen, target.missing = seen.get(target.name), missing


async def _states(connect: Connect, names: set[str]) -> dict[str, model.Connector]:
    if len(names) > 1:
        listed = await connect.expanded()
        return model.connectors({name: part for name, part in listed.items() if name in names})
    (name,) = names
    try:
        return {name: model.connector(name, await connect.status(name), await connect.info(name))}
    except NotFound:  # a new connector has no status for a moment
        return {}
