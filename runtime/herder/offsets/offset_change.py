"""Carrying out a change of offsets: journal, steps, and what happens when one of them fails or the worker dies.

    intent written ─ step ─ step ─ … ─ into the history, intent removed
                       └ refused: taken back, as if nothing had happened
                       └ Kafka is away, or the worker dies: carried on as soon as possible; until then 409

Every step may be repeated, so carrying on means taking all of them again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import Conflict
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore
from runtime.storage.journal import OffsetAction, OffsetEntry, OffsetJournal, PlannedChange

log = logging.getLogger(__name__)

RETRY_DELAY, MAX_RETRY_DELAY = 2.0, 30.0
"""Seconds until an unfinished change is tried again: at first, and after many failures."""

_Step = tuple[str, Callable[[PlannedChange], Awaitable[None]]]


class StepRefused(Exception):
    """Kafka refused a step; the change has been taken back. `step` is its name."""

    def __init__(self, step: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.step = step


class OffsetChanges:
    """Completes the changes of offsets in the journal. Event loop only; requests hold the connector's lock."""

    def __init__(
        self,
        journal: OffsetJournal,
        configs: ConfigStore,
        places: StoredOffsets,
        fleet: Connectors,
        locks: ConnectorLocks,
    ) -> None:
        self._journal, self._configs, self._places, self._fleet = journal, configs, places, fleet
        self._locks = locks
        self._finishing: asyncio.Task[None] | None = None
        self._finished_now: set[str] = set()  # connectors whose interrupted change is being finished
        self._unconfirmed: dict[str, PlannedChange] = {}  # intents that may or may not have reached the journal

    async def carry_out(self, intent: PlannedChange) -> None:
        """StepRefused when Kafka refuses; BrokerUnavailable if the change will be finished later. The caller
        holds the connector's lock."""
        try:
            await self._begin(intent)
            await self._take_steps(intent)
        except BrokerUnavailable:
            self.finish_later()
            raise

    def check_free(self, name: str) -> None:
        """Conflict while a change of this connector's offsets is unfinished."""
        if (intent := self._interrupted(name)) is not None:
            self.finish_later()
            raise _conflict(intent)

    def check_not_finishing(self, name: str) -> None:
        """Conflict while an interrupted change of this connector's offsets is being finished in the background."""
        if name in self._finished_now and (intent := self._interrupted(name)) is not None:
            raise _conflict(intent)

    async def finish(self) -> bool:
        """Finish every interrupted change; False if some have to wait for Kafka."""
        for name in sorted({*(intent.connector for intent in self._journal.all_pending()), *self._unconfirmed}):
            await self._finish(name)
        return not self._journal.all_pending() and not self._unconfirmed

    def finish_later(self) -> None:
        """finish() in the background, repeated until nothing is pending."""
        if self._finishing is None or self._finishing.done():
            self._finishing = asyncio.create_task(self._finish_all(), name="finish offsets")

    def close(self) -> None:
        """Leave unfinished changes to the next worker."""
        if self._finishing is not None:
            self._finishing.cancel()

    async def _finish_all(self) -> None:
        delay = RETRY_DELAY
        while True:
            await asyncio.sleep(delay)
            if await self.finish():
                return
            delay = min(delay * 2, MAX_RETRY_DELAY)

    async def _finish(self, name: str) -> None:
        """Finish the change that is pending under the connector's lock: a request may have completed the change
        meanwhile, and later requests may have changed the offsets."""
        async with self._locks.hold(name):
            intent = self._interrupted(name)
            if intent is None:
                return
            self._finished_now.add(name)
            try:
                await self._resume(intent)
            finally:
                self._finished_now.discard(name)

    async def _resume(self, intent: PlannedChange) -> None:
        name, action = intent.connector, intent.action
        log.info("%s: finishing the interrupted change of its offsets (%s)", name, action)
        try:
            if name in self._unconfirmed:
                await self._begin(intent)
            await self._take_steps(intent)
        except StepRefused as e:
            log.error("%s: the change of its offsets (%s) was rolled back: %s", name, action, e)
        except BrokerUnavailable as e:
            log.warning("%s: the change of its offsets (%s) has to wait: %s", name, action, e)
        except Exception:  # an error of one connector must not block the others
            log.exception("%s: the change of its offsets (%s) failed; trying again later", name, action)

    def _interrupted(self, name: str) -> PlannedChange | None:
        return self._unconfirmed.get(name) or self._journal.pending(name)

    async def _begin(self, intent: PlannedChange) -> None:
        """An unconfirmed write may still reach the journal hours later. It is repeated until confirmed, so that no
        intent appears in the journal after newer changes."""
        try:
            await self._journal.begin(intent)
        except BrokerUnavailable:
            self._unconfirmed[intent.connector] = intent
            raise
        self._unconfirmed.pop(intent.connector, None)

    async def _take_steps(self, intent: PlannedChange) -> None:
        with self._places.configured(intent.connector, intent.config):
            await self._take_each_step(intent)

    async def _take_each_step(self, intent: PlannedChange) -> None:
        for name, step in self._steps(intent):
            try:
                await step(intent)
            except BrokerUnavailable:
                raise
            except KafkaProblem as e:
                await self._take_back(intent)
                await self._journal.drop(intent)
                raise StepRefused(name, e) from None
        await self._journal.done(intent)

    def _steps(self, intent: PlannedChange) -> list[_Step]:
        wipe: _Step = ("wipe existing offsets", self._wipe)
        place: _Step = ("set offsets", self._set)
        match intent.action:
            case OffsetAction.ALTER:
                return [place]
            case OffsetAction.RESET:
                return [wipe]
            case OffsetAction.CREATE:
                return [wipe, place, ("write connector config", self._create)]
            case OffsetAction.DELETE:
                return [("remove connector", self._remove), wipe]

    async def _wipe(self, intent: PlannedChange) -> None:
        await self._places.wipe(intent.connector, intent.group)

    async def _set(self, intent: PlannedChange) -> None:
        await self._places.set(intent.connector, intent.group, intent.offsets)

    async def _create(self, intent: PlannedChange) -> None:
        """Unless it is there: the config is written last, so then everything had been done."""
        if self._configs.connector(intent.connector) is None:
            state = None if intent.initial_state is None else TargetState(intent.initial_state)
            await self._configs.put_connector(intent.connector, intent.config or {}, state)

    async def _remove(self, intent: PlannedChange) -> None:
        """Tasks commit when they stop: the offsets go after that."""
        if self._configs.connector(intent.connector) is not None:
            await self._configs.remove_connector(intent.connector)
        if not await self._fleet.settled(intent.connector):
            raise BrokerUnavailable(f"tasks of connector {intent.connector} have not ended yet")

    async def _take_back(self, intent: PlannedChange) -> None:
        """KIP-995 has a failed creation leave no offsets at all; everything else leaves things as they were."""
        exists = self._configs.connector(intent.connector) is not None
        if intent.action is OffsetAction.DELETE and not exists:
            await self._create(intent)
        try:
            if intent.action is not OffsetAction.CREATE:
                await self._places.set(intent.connector, intent.group, [*_removals(intent), *intent.before])
            elif not exists:
                await self._places.wipe(intent.connector, intent.group)
        except BrokerUnavailable:
            raise
        except KafkaProblem as e:  # a group in use refuses this too, and then nothing had been changed
            log.warning("%s: the %s of its offsets was not taken back: %s", intent.connector, intent.action, e)


def _conflict(intent: PlannedChange) -> Conflict:
    return Conflict(
        f"Cannot complete request: a change of the offsets of connector {intent.connector} ({intent.action}) was "
        "interrupted and is being finished; try again in a moment"
    )


def _removals(intent: PlannedChange) -> list[OffsetEntry]:
    return [(partition, None) for partition, _ in intent.offsets]
