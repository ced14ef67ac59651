"""Restores one connector:

    create STOPPED (or stop, and replace the config) → set the offsets → resume or pause

A connector runs only after its offsets have been set, and whatever fails leaves it STOPPED, so that the same restore
can be run again and continues. Before Connect 3.7 a new connector runs for a moment until it is stopped: the offsets
that it writes are removed. Before 3.5 it is paused.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple, TypeVar

from tui import model
from tui.backup import document
from tui.backup.plan import RestoreAction, RestoreStep, offset_differences
from tui.client.client import Connect
from tui.config import creating
from tui.config.changes import changes as config_changes
from tui.errors import Conflict, HeadraceError, NotFound, TimedOut, may_have_arrived
from tui.formatting import counted
from tui.offsets import partitions
from tui.offsets.change_store import ChangeStore
from tui.offsets.operation import POLL_INTERVAL, STOP_TIMEOUT, carry_out
from tui.offsets.plan import OffsetPlan
from tui.offsets.retry import Clock, Report

T = TypeVar("T")
_AGAIN = "run the restore again once the cause is removed"


class ConnectorRestore(NamedTuple):
    """One step and what it needs; `reason` is recorded in the history of the offsets."""

    step: RestoreStep
    connect: Connect
    change_store: ChangeStore
    report: Report
    clock: Clock
    reason: str

    async def run(self) -> str:
        """Carries out the step; returns what was done. Raises HeadraceError with the state that remains, and Conflict
        if someone else has changed the connector since the step was planned."""
        await self._check_unchanged()
        done = []
        if self.step.action is RestoreAction.CREATE:
            await self._create()
            done.append("created")
        elif self.step.action is RestoreAction.OVERWRITE:
            if self.step.before != "STOPPED" and (
                self.step.config or self.step.offsets or self.step.state == "STOPPED"
            ):
                await self._stop()
            if self.step.config:
                await _advised(self.connect.configure(self.step.name, self.step.written))
                done.append("config replaced")
        is_new = self.step.action is RestoreAction.CREATE and self.step.saved.offsets is not None
        if self.step.offsets or is_new:
            done += filter(None, [await _advised(self._set_offsets())])
        done.append(await _advised(self._set_state()))
        return ", ".join(done)

    def forget_interrupted(self) -> None:
        """Discard the record of a change of offsets by the same restore, which was interrupted: this one sets them all
        again. Raises Conflict while another console changes them."""
        pending = self.change_store.pending
        interrupted = pending.of(self.step.name)
        if interrupted is not None and interrupted.plan.why == self.reason:
            lock = pending.lock(self.step.name)
            lock.drop()
            lock.release()

    async def _check_unchanged(self) -> None:
        """The offsets of a connector that runs change by themselves; the worker refuses a new one that exists."""
        now, name = self.step.now, self.step.name
        if now is None:
            return
        state = document.state_of(model.connector(name, await self.connect.status(name)))
        differences = [change.key for change in config_changes(now.config, await self.connect.config(name))]
        if state != now.state:
            differences.append(f"{now.state} → {state}")
        if differences:
            raise Conflict(f"someone else has changed it since it was planned: {', '.join(differences)}", 409, _AGAIN)

    async def _create(self) -> None:
        new = await creating.new_state(self.connect, "STOPPED")
        await creating.create(self.connect, {"name": self.step.name, "config": dict(self.step.written)}, new)
        if new.state == "STOPPED":
            await _advised(self._until_stopped())

    async def _stop(self) -> None:
        self.report("stopping the connector")
        await self.connect.stop(self.step.name)
        await self._until_stopped()

    async def _until_stopped(self) -> None:
        deadline = self.clock() + STOP_TIMEOUT
        while True:
            try:
                connector = model.connector(self.step.name, await self.connect.status(self.step.name))
                if connector.is_in("STOPPED"):
                    return
                seen = connector.overall
            except NotFound:  # a new connector has no status for a moment
                seen = "without a status"
            if self.clock() > deadline:
                raise TimedOut(f"not STOPPED within {STOP_TIMEOUT:g} s: {seen}")
            await self.connect.sleep(POLL_INTERVAL)

    async def _set_offsets(self) -> str:
        """Returns what was done; an empty text if there was nothing to do."""
        step = self.step
        changes = step.offsets
        if step.action is RestoreAction.CREATE:  # it may have run, or an earlier one of this name has left offsets
            changes = offset_differences(step.saved.offsets or (), model.offsets(await self.connect.offsets(step.name)))
        text = f"{counted(len(step.offsets), 'offset')} set" if step.offsets else ""
        if not changes:  # a group of this name had them already
            return text
        text = text or f"{counted(len(changes), 'other offset')} reset"
        self.report(f"setting {counted(len(changes), 'offset')}")
        base = step.now.offsets if step.now is not None and step.before == "STOPPED" else None
        plan = OffsetPlan(step.name, base, changes, "STOPPED", why=self.reason)
        done = await carry_out(plan, self.connect, self.change_store, self.report, self.clock)
        if done.trouble or done.differing:
            problem = f"after reading back, {len(done.differing)} of {len(changes)} offsets differ"
            raise HeadraceError(done.trouble or problem)
        by_hand = partitions.by_hand(done.verdict)
        return f"{text} ({by_hand})" if by_hand else text

    async def _set_state(self) -> str:
        if self.step.state == "STOPPED":
            return "STOPPED"
        await (self.connect.resume if self.step.state == "RUNNING" else self.connect.pause)(self.step.name)
        return "resumed" if self.step.state == "RUNNING" else "paused"


async def _advised(call: Awaitable[T]) -> T:
    """The result of a call that leaves the connector STOPPED if it fails."""
    try:
        return await call
    except HeadraceError as error:
        state = "" if may_have_arrived(error) else "the connector is STOPPED"  # it may have been resumed
        error.advice = "; ".join(filter(None, [error.advice, state, _AGAIN]))
        raise
