"""Changes of offsets, carried out step by step and finished after a failure.

    journal the planned change ─ step ─ step ─ … ─ add it to the history, remove it from the plan
                                   ├ Kafka refuses: roll back
                                   └ Kafka is unavailable, or the worker dies: finish once possible; 409 until then

Every step may be repeated, so finishing a change repeats all of its steps.

A deletion stops the connector before it is planned, since the connector's hook may refuse it:

    journal HALT ─ stop the connector ─ wait for its tasks ─ hook ─ journal DELETE, which replaces HALT ─ …
                                            └ refused, or the worker dies: the connector continues, HALT is removed
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.errors import Conflict
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import OffsetAction, OffsetEntry, OffsetJournal, PlannedChange

log = logging.getLogger(__name__)

RETRY_DELAY, MAX_RETRY_DELAY = 2.0, 30.0
"""Seconds before an unfinished change is retried: the first delay, and the longest; each retry doubles it."""

_DEPOSED = "this worker is not known to lead its group"

_TOO_LATE = (
    "%s: a change of offsets (%s) is not carried out: it reached the journal after the connector was started or changed"
)

_Step = tuple[str, Callable[[PlannedChange], Awaitable[None]]]


class StepRefused(Exception):
    """Kafka refused a step, and the change has been rolled back. `step` is the name of the step."""

    def __init__(self, step: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.step = step


class OffsetChanges:
    """Carries out changes and finishes interrupted ones. Event loop only; requests hold the connector's lock."""

    def __init__(
        self, journal: OffsetJournal, configs: ConfigStore, offsets: StoredOffsets, settling: GroupSettling,
        locks: ConnectorLocks, leads: Callable[[], bool] = lambda: True, retry_delay: float = RETRY_DELAY,
    ) -> None:  # fmt: skip
        """`leads`: whether this worker leads its group, and thus may change offsets."""
        self._journal, self._configs, self._offsets, self._settling = journal, configs, offsets, settling
        self._locks, self._leads, self._retry_delay = locks, leads, retry_delay
        self._finishing: asyncio.Task[None] | None = None
        self._being_finished: set[str] = set()  # connectors whose interrupted change is being finished
        self._unconfirmed: dict[str, PlannedChange] = {}  # changes that may or may not have reached the journal

    async def carry_out(self, intent: PlannedChange) -> None:
        """Carry out a change. StepRefused if Kafka refuses the change, BrokerUnavailable if it will be finished later.
        The caller holds the connector's lock."""
        intent = self._journal.numbered(intent)
        try:
            await self._begin(intent)
            await self._take_steps(intent)
        except BrokerUnavailable as e:
            self.finish_later()
            name = intent.connector
            raise BrokerUnavailable(f"{e}; the change of the offsets of connector {name} is finished later") from None

    @asynccontextmanager
    async def halted(self, intent: PlannedChange) -> AsyncIterator[None]:
        """While the block runs, the connector is STOPPED. It continues as before unless the block has begun its
        deletion, also if this worker dies. The caller holds the connector's lock."""
        if intent.initial_state == TargetState.STOPPED:
            yield
            return
        try:
            await self._begin(intent)
            await self._configs.put_tasks(intent.connector, [])
            await self._configs.put_target_state(intent.connector, TargetState.STOPPED)
            yield
        except Exception:
            if self._is_pending(intent):
                await self._resume(intent)
            raise
        finally:
            if self._is_pending(intent):  # cancelled, or Kafka is unavailable
                self.finish_later()

    def check_no_pending_change(self, name: str) -> None:
        """Raises Conflict while a change of this connector's offsets is unfinished."""
        if (intent := self._interrupted(name)) is not None:
            self.finish_later()
            raise _conflict(intent)

    def check_not_finishing(self, name: str) -> None:
        """Raises Conflict while an interrupted change of this connector's offsets is being finished in the
        background."""
        if name in self._being_finished and (intent := self._interrupted(name)) is not None:
            raise _conflict(intent)

    async def finish(self) -> bool:
        """Finish every interrupted change; False if some must wait for Kafka, or until this worker is known to lead."""
        if not self._leads():
            return False
        for name in sorted({*(intent.connector for intent in self._journal.all_pending()), *self._unconfirmed}):
            await self._finish(name)
        return not self._journal.all_pending() and not self._unconfirmed

    def finish_later(self) -> None:
        """Call finish() in the background until every change is finished."""
        if self._finishing is None or self._finishing.done():
            self._finishing = asyncio.create_task(self._finish_all(), name="finish offsets")

    def close(self) -> None:
        """Stop finishing changes; the next worker, or the next leader, continues."""
        if self._finishing is not None:
            self._finishing.cancel()
        self._unconfirmed.clear()

    async def _finish_all(self) -> None:
        delay = self._retry_delay
        while True:
            await asyncio.sleep(delay)
            if await self.finish():
                return
            delay = min(delay * 2, MAX_RETRY_DELAY)

    async def _finish(self, name: str) -> None:
        """Read the pending change only under the connector's lock: a request may complete it meanwhile, and later
        requests may change the offsets again."""
        async with self._locks.hold(name):
            intent = self._interrupted(name)
            if intent is None:
                return
            self._being_finished.add(name)
            try:
                await self._resume(intent)
            finally:
                self._being_finished.discard(name)

    async def _resume(self, intent: PlannedChange) -> None:
        name, action = intent.connector, intent.action
        log.info("%s: finishing an interrupted change of offsets (%s)", name, action)
        try:
            if await self._is_too_late(intent):
                log.error(_TOO_LATE, name, action)
                self._unconfirmed.pop(name, None)
                await self._journal.drop(intent)
                return
            if name in self._unconfirmed:
                await self._begin(intent)
            await self._take_steps(intent)
        except StepRefused as e:
            log.error("%s: Kafka refused the change of offsets (%s), which was rolled back: %s", name, action, e)
        except BrokerUnavailable as e:
            log.warning("%s: cannot finish the change of offsets (%s) yet, retrying: %s", name, action, e)
        except Exception:  # an error of one connector must not block the others
            log.exception("%s: the change of offsets (%s) failed, retrying", name, action)

    async def _is_too_late(self, intent: PlannedChange) -> bool:
        """Whether a former leader, which could not reach Kafka, has written the change after its successor had allowed
        others. Its connector may be running. Imports by `headrace offsets` leave changes of connectors that are not
        STOPPED, and finish before they start."""
        if intent.follows is None:  # of an import, or of an earlier version
            return False
        await self._configs.read_to_end()  # it may have been stopped through another worker
        stored = self._configs.connector(intent.connector)
        is_stopped = stored is None or stored.target is TargetState.STOPPED
        while_stopped = intent.action in (OffsetAction.ALTER, OffsetAction.RESET)
        return self._journal.is_outdated(intent) or (while_stopped and not is_stopped)

    def _interrupted(self, name: str) -> PlannedChange | None:
        return self._unconfirmed.get(name) or self._journal.pending(name)

    def _is_pending(self, intent: PlannedChange) -> bool:
        unconfirmed = self._unconfirmed.get(intent.connector)
        return self._journal.is_pending(intent) if unconfirmed is None else unconfirmed.id == intent.id

    async def _begin(self, intent: PlannedChange) -> None:
        """An unconfirmed write may reach the journal hours later. It is repeated until confirmed, so that a change
        never appears in the journal after newer changes."""
        try:
            await self._journal.begin(intent)
        except BrokerUnavailable:
            self._unconfirmed[intent.connector] = intent
            raise
        self._unconfirmed.pop(intent.connector, None)

    async def _take_steps(self, intent: PlannedChange) -> None:
        name = intent.connector
        confirm = partial(self._journal.begin, intent)
        with self._offsets.configured(name, intent.config), self._offsets.confirmed(name, confirm):
            await self._take_each_step(intent)

    async def _take_each_step(self, intent: PlannedChange) -> None:
        for name, step in self._steps(intent):
            await self._check_in_charge(intent)
            try:
                await step(intent)
            except BrokerUnavailable:
                raise
            except Conflict:  # this worker does not lead any more: the next leader carries out the planned change
                raise BrokerUnavailable(_DEPOSED) from None
            except KafkaProblem as e:
                await self._check_in_charge(intent)  # another worker may have finished the change: its tasks run
                await self._roll_back(intent)
                await self._journal.drop(intent)
                raise StepRefused(name, e) from None
        await self._check_in_charge(intent)
        await self._end(intent)

    async def _check_in_charge(self, intent: PlannedChange) -> None:
        """BrokerUnavailable if another worker leads, or has finished the change while this one was frozen. Nothing
        fences requests to consumer groups, nor any write of workers without transactions."""
        await self._journal.read_to_end()
        if not self._leads() or not self._is_pending(intent):
            raise BrokerUnavailable(_DEPOSED)

    async def _end(self, intent: PlannedChange) -> None:
        if intent.action is OffsetAction.HALT:
            await self._journal.drop(intent)
        else:
            await self._journal.done(intent)

    def _steps(self, intent: PlannedChange) -> list[_Step]:
        wipe: _Step = ("wipe existing offsets", self._wipe)
        write: _Step = ("set offsets", self._set)
        match intent.action:
            case OffsetAction.ALTER:
                return [write]
            case OffsetAction.RESET:
                return [wipe]
            case OffsetAction.CREATE:
                # The configuration is the last step: the creation is complete, and the tasks have gone on from there.
                exists = self._configs.connector(intent.connector) is not None
                return [] if exists else [wipe, write, ("write connector config", self._create)]
            case OffsetAction.DELETE:
                return [("remove connector", self._remove), wipe]
            case OffsetAction.HALT:
                return [("restore tasks and state", self._restore)]

    async def _wipe(self, intent: PlannedChange) -> None:
        await self._offsets.wipe(intent.connector, intent.group)

    async def _set(self, intent: PlannedChange) -> None:
        await self._offsets.set(intent.connector, intent.group, intent.offsets)

    async def _create(self, intent: PlannedChange) -> None:
        if self._configs.connector(intent.connector) is None:
            state = None if intent.initial_state is None else TargetState(intent.initial_state)
            await self._configs.put_connector(intent.connector, intent.config or {}, state)

    async def _remove(self, intent: PlannedChange) -> None:
        """Waits for the tasks, which commit when they stop: offsets can only be removed after that."""
        if self._configs.connector(intent.connector) is not None:
            await self._configs.remove_connector(intent.connector)
        if (reason := await self._settling.unsettled(intent.connector)) is not None:
            raise BrokerUnavailable(reason)

    async def _restore(self, intent: PlannedChange) -> None:
        """Write the tasks and the target state that the connector had before it was stopped. Tasks are written before
        the state, so that a connector with tasks needs neither."""
        stored = self._configs.connector(intent.connector)
        if stored is None or stored.tasks or intent.initial_state is None:
            return
        if (target := TargetState(intent.initial_state)) is not TargetState.STOPPED:
            await self._configs.put_tasks(intent.connector, intent.tasks)
            await self._configs.put_target_state(intent.connector, target)

    async def _roll_back(self, intent: PlannedChange) -> None:
        """Restore the previous offsets, or remove all offsets of a connector that was not created (KIP-995)."""
        exists = self._configs.connector(intent.connector) is not None
        if intent.action is OffsetAction.HALT:
            return
        if intent.action is OffsetAction.DELETE:
            await self._create(intent)
            await self._restore(intent)
        try:
            if intent.action is not OffsetAction.CREATE:
                await self._offsets.set(intent.connector, intent.group, [*_removals(intent), *intent.before])
            elif not exists:
                await self._offsets.wipe(intent.connector, intent.group)
        except BrokerUnavailable:
            raise
        except KafkaProblem as e:  # a group in use also refuses the rollback, but then nothing had been changed
            log.warning("%s: could not roll back the change of offsets (%s): %s", intent.connector, intent.action, e)


def _conflict(intent: PlannedChange) -> Conflict:
    return Conflict(
        f"Cannot complete request: a change of the offsets of connector {intent.connector} ({intent.action}) was "
        "interrupted and is being finished; try again in a moment"
    )


def _removals(intent: PlannedChange) -> list[OffsetEntry]:
    return [(partition, None) for partition, _ in intent.offsets]
