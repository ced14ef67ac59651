"""Applying edited offsets: stop where it must, read again, refuse what others changed, alter, read back, go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tui import model
from tui.client import Connect
from tui.errors import HeadraceError, TimedOut
from tui.model import Certainty, Offset, Verdict
from tui.offsets import partitions
from tui.offsets.changes import Change, Conflict, conflicts, same

Json = Any
STOPS_WITHIN = 90.0  # seconds
LOOKS_EVERY = 0.25  # seconds between looks at the state while waiting


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done. `state` is the connector's, and it goes back to it afterwards; `ran`: it was not STOPPED
    all the time since `base` was read, and may have moved on by itself."""

    name: str
    base: tuple[Offset, ...]
    changes: tuple[Change, ...]
    state: str
    ran: bool = False

    @property
    def must_stop(self) -> bool:
        return self.state != "STOPPED"

    @property
    def way_back(self) -> str:
        """The verb that restores the state; empty when it was STOPPED all along."""
        return {"STOPPED": "", "PAUSED": "pause"}.get(self.state, "resume")

    @property
    def script_lines(self) -> list[str]:
        """The same as a script."""
        from shlex import quote

        name = quote(self.name)
        entries = partitions.compact([change.entry for change in self.changes])
        lines = [f"patch offsets {name} {quote(entries)}"]
        if self.must_stop:
            lines = [f"stop connector {name}", f"wait connector {name} STOPPED", *lines]
            lines.append(f"{self.way_back} connector {name}")
        return lines


@dataclass(frozen=True, slots=True)
class Applied:
    """The server took it. `after` was read back; `differing` are the changes that are not found there."""

    verdict: Verdict
    before: tuple[Offset, ...]
    after: tuple[Offset, ...]
    differing: tuple[Change, ...]
    left_stopped: bool  # we stopped it and did not set it going again: see the verdict
    trouble: str = ""  # what went wrong after the change itself was made


class NotApplied(HeadraceError):
    """Nothing was changed, as far as is known. `stopped`: the connector was stopped on the way and still is."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        stopped: bool = False,
        conflicts: Sequence[Conflict] = (),
        now: Sequence[Offset] | None = None,
    ) -> None:
        super().__init__(message, advice)
        self.stopped, self.conflicts = stopped, tuple(conflicts)
        self.now = None if now is None else tuple(now)


def _silent(step: str) -> None:
    """Nobody listens."""


async def apply(
    plan: Plan,
    connect: Connect,
    tell: Callable[[str], None] = _silent,
    clock: Callable[[], float] = time.monotonic,
) -> Applied:
    """Raises NotApplied, with the server's own message where it refused."""
    return await _Applying(plan, connect, tell, clock).run()


class _Applying:
    def __init__(self, plan: Plan, connect: Connect, tell: Callable[[str], None], clock: Callable[[], float]) -> None:
        self.plan, self.connect, self.tell, self.clock = plan, connect, tell, clock
        self.stopped = False

    async def run(self) -> Applied:
        try:
            if self.plan.must_stop:
                await self.stop()
            before = await self.unchanged()
            self.tell("altering the offsets")
            answer = await self.connect.alter_offsets(self.plan.name, [c.entry for c in self.plan.changes])
        except NotApplied:
            raise
        except TimedOut as error:
            now = await self.try_to_read()
            unknown = "whether it took effect is not known" + (
                "" if now is None else "; what is there now was read again"
            )
            raise NotApplied(error.message, unknown, stopped=self.stopped, now=now) from error
        except HeadraceError as error:
            raise NotApplied(error.message, error.advice, stopped=self.stopped) from error
        return await self.afterwards(model.verdict(answer), before)

    async def stop(self) -> None:
        name = self.plan.name
        self.tell("stopping the connector")
        await self.connect.stop(name)
        self.stopped = True
        deadline = self.clock() + STOPS_WITHIN
        while not (one := model.connector(name, await self.connect.status(name))).is_in("STOPPED"):
            if self.clock() > deadline:
                left = ", ".join(f"task {task.id} is {task.state}" for task in one.tasks)
                raise NotApplied(
                    f"not STOPPED within {STOPS_WITHIN:g} s: the connector is {one.state}; {left}", stopped=True
                )
            self.tell(f"waiting for STOPPED: {one.state}, {len(one.tasks)} tasks left")
            await self.connect.sleep(LOOKS_EVERY)

    async def unchanged(self) -> tuple[Offset, ...]:
        self.tell("reading the offsets again")
        now = await self.read()
        found = conflicts(self.plan.base, now, self.plan.changes, ran=self.plan.ran or self.plan.must_stop)
        if found:
            raise NotApplied(
                f"somebody else changed {_listed(found)} meanwhile", stopped=self.stopped, conflicts=found, now=now
            )
        return now

    async def read(self) -> tuple[Offset, ...]:
        return model.offsets(await self.connect.offsets(self.plan.name))

    async def try_to_read(self) -> tuple[Offset, ...] | None:
        try:
            return await self.read()
        except HeadraceError:
            return None

    async def afterwards(self, verdict: Verdict, before: tuple[Offset, ...]) -> Applied:
        """The change is made: whatever fails from here on must not look as if it were not."""
        after, left_stopped, trouble = before, self.stopped, ""
        differing: tuple[Change, ...] = ()
        try:
            self.tell("reading the offsets back")
            after = await self.read()
            differing = _differing(self.plan.changes, after)
            if self.stopped and verdict.certainty is Certainty.DEFINITE and not differing:
                self.tell(f"{self.plan.way_back}: the connector goes on")
                await self.go_on()
                left_stopped = False
        except HeadraceError as error:
            trouble = f"the offsets were changed, but then: {error.message}"
        return Applied(verdict, before, after, differing, left_stopped, trouble)

    async def go_on(self) -> None:
        if self.plan.way_back == "pause":
            await self.connect.pause(self.plan.name)
        else:
            await self.connect.resume(self.plan.name)


def _differing(made: Sequence[Change], after: Sequence[Offset]) -> tuple[Change, ...]:
    there = {partitions.key(entry.partition): entry.offset for entry in after}
    return tuple(change for change in made if not same(there.get(partitions.key(change.partition)), change.after))


def _listed(found: Sequence[Conflict]) -> str:
    parts = [
        f"{partitions.shown(one.partition)} ({partitions.shown_offset(one.was)} → {partitions.shown_offset(one.now)})"
        for one in found[:3]
    ]
    return ", ".join(parts) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
