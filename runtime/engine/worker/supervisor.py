"""The engine in the worker: places tasks on slots, stops and pauses them, and moves them when a slot is full."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runtime.api.errors import ConnectError
from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.port import EngineListener, SlotInfo, TaskStack
from runtime.engine.protocol.descriptors import room
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.protocol.task_specs import about
from runtime.engine.worker.reports import TaskReports
from runtime.engine.worker.slots import Slots
from runtime.engine.worker.stacks import Stacks
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State, TaskId
from runtime.model.task_spec import TaskSpec
from runtime.system.frames import FrameError
from runtime.system.lease_clock import lease_time

_log = logging.getLogger(__name__)

PLACE_DELAY = 0.005
"""Seconds for which placements are batched."""

PLACE_RETRY_DELAY = 0.5
"""Seconds until slots that were busy starting tasks are checked again."""


class SparkEngine:
    """Implements Engine. Event loop only."""

    def __init__(
        self,
        settings: EngineSettings,
        listener: EngineListener,
        lease: Callable[[], float] = lambda: math.inf,
        clock: Callable[[], float] = lease_time,
    ) -> None:
        """`lease` returns the seconds for which this worker's membership in its group is still confirmed."""
        self._listener, self._clock = listener, clock
        expected = room(which=1) if settings.local else math.inf
        self._roster = Roster(settings.slots, settings.slot_wait, clock, settings.max_extra_slots, expected)
        self._stacks = Stacks()
        reports = TaskReports(self._roster, listener, self._stacks, self._find_room, self._place_soon, clock)
        self._slots = Slots(settings, self._roster, listener, lease, clock, self._place, reports.take)
        self._former_members: dict[TaskId, str] = {}
        self._placing: asyncio.TimerHandle | None = None
        self._max_extra_slots = settings.max_extra_slots
        self._longest_lease = 3 * settings.lease_ttl  # seconds until a slot that does not answer is lost, and its lease
        self._reported_missing: set[str] = set()  # environments without a slot
        self._preparing: set[asyncio.Task[None]] = set()

    @property
    def slots(self) -> Sequence[SlotInfo]:
        return self._slots.infos()

    @property
    def has_slots(self) -> bool:
        return bool(self._roster.links)

    @property
    def slots_without_core(self) -> Sequence[int]:
        return self._slots.without_core

    @property
    def trouble(self) -> str:
        return self._slots.trouble

    def may_run(self) -> bool:
        return self._slots.may_run()

    def revoke_leases(self) -> None:
        """End the tasks of all slots now, since the membership is lost. Thread-safe."""
        self._slots.revoke_leases()

    def set_levels(self, levels: Mapping[str, str]) -> None:
        self._slots.set_levels(levels)

    def renew_logins(self, logins: Mapping[str, Mapping[str, Any]]) -> None:
        self._slots.renew_logins(logins)

    async def start(self) -> None:
        await self._slots.start()

    async def close(self, graceful: float) -> None:
        stops = []
        for number, task in enumerate(list(self._roster.tasks)):
            if number % 20 == 0:  # let other work run between thousands of tasks
                await asyncio.sleep(0)
            stops.append(asyncio.create_task(self.stop_task(task, graceful)))
        await asyncio.gather(*stops)
        await self._slots.close()

    # Tasks

    def start_task(self, spec: TaskSpec) -> None:
        former = self._roster.tasks.pop(spec.id, None)
        if former is not None:
            self._revoke(former)
            self._forgive(former)
        self._former_members.pop(spec.id, None)
        task = TaskRun(spec)
        self._roster.add(task)
        if self._slots.is_remote:
            task.archives = None
            task.former = former if former is None or former.link is not None else former.former
            self._preparing.add(preparing := asyncio.create_task(self._prepare(task)))
            preparing.add_done_callback(self._preparing.discard)
        else:
            self._place_soon(0.0)

    async def _prepare(self, task: TaskRun) -> None:
        """Make the archives of the plugins that a task needs on another machine, and wait until the former run can
        no longer write."""
        if task.former is not None:
            await task.former.harmless.wait()
            task.former = None
        try:
            task.archives = await self._slots.archives_of(task.spec)
        except OSError as error:
            if self._roster.tasks.get(task.spec.id) is task:
                task.end()
                task.failed = True
                trace = f"{ConnectError.java_name}: The plugins of the task cannot be sent to its slot: {error}\n"
                self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, trace)
        self._place_soon(0.0)

    async def stop_task(self, task: TaskId, graceful: float) -> bool:
        stopping = self._roster.tasks.pop(task, None)
        if stopping is not None:
            self._forgive(stopping)
        if stopping is not None and stopping.former is not None:
            return await self._until_harmless(stopping.former)
        if stopping is None or stopping.link is None or stopping.ended.is_set():
            return True
        stopping.link.send({"op": "stop", **about(stopping.spec)})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(graceful):
                await stopping.ended.wait()
        if stopping.ended.is_set() and not stopping.lost:
            return True
        if stopping.member_id:
            self._former_members[task] = stopping.member_id
        self._revoke(stopping)
        if stopping.link.is_remote:  # its process may run for as long as its lease, whatever the network does
            await self._until_harmless(stopping)
        return False

    async def _until_harmless(self, task: TaskRun) -> bool:
        """Wait until a revoked run can no longer write, at most for the longest lease; whether that is so."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._longest_lease):
                await task.harmless.wait()
        return task.harmless.is_set()

    def pause_task(self, task: TaskId, paused: bool) -> None:
        entry = self._roster.tasks.get(task)
        if entry is None or entry.ended.is_set():
            return
        entry.spec = replace(entry.spec, paused=paused)  # for another slot, too, if this one has no room
        if entry.link is not None:
            entry.link.send({"op": "pause", **about(entry.spec), "paused": paused})

    def limit_task(self, task: TaskId, limit: RateLimit) -> None:
        entry = self._roster.tasks.get(task)
        if entry is None or entry.ended.is_set():
            return
        entry.spec = replace(entry.spec, limit=limit)
        if entry.link is not None:
            entry.link.send({"op": "limit", **about(entry.spec), "records": limit.records, "bytes": limit.bytes})

    def reset_topics(self, connector: str, at: int) -> None:
        for task in self._roster.tasks.values():
            if task.spec.connector == connector and task.link is not None and not task.ended.is_set():
                task.link.send({"op": "reset_topics", **about(task.spec), "at": at})

    async def stack(self, task: TaskId, within: float) -> TaskStack | None:
        entry = self._roster.tasks.get(task)
        if entry is None or entry.link is None or entry.ended.is_set():
            return None
        return await self._stacks.ask(entry, within)

    def member_id(self, task: TaskId) -> str | None:
        return self._former_members.get(task)

    def _forgive(self, task: TaskRun) -> None:
        self._roster.client_failures.forget(task.spec.id)
        if task.failed:
            self._roster.suspects.forgive(task.spec.id)

    def _revoke(self, task: TaskRun) -> None:
        if task.link is not None and not task.ended.is_set():
            task.link.revoked(task, self._clock())
            task.link.send({"op": "revoke", **about(task.spec)})

    # Placing

    def _place_soon(self, seconds: float = PLACE_DELAY) -> None:
        """Tasks are placed in batches: a starting worker may have thousands."""
        loop = asyncio.get_running_loop()
        if self._placing is not None and self._placing.when() > loop.time() + seconds:
            self._placing.cancel()
            self._placing = None
        if self._placing is None:
            self._placing = loop.call_later(seconds, self._place)

    def _place(self) -> None:
        if self._placing is not None:
            self._placing.cancel()
        self._placing = None
        for task, link in self._roster.placements():
            try:
                link.send({"op": "start", "spec": task.spec, "archives": task.archives or {}})
            except (FrameError, TypeError, ValueError):  # too long, or not JSON
                self._refuse(task, link, traceback.format_exc())
        self._slots.request_slots()
        self._log_missing_slots()
        if self._roster.has_waiting and self._roster.links:
            self._place_soon(PLACE_RETRY_DELAY)

    def _log_missing_slots(self) -> None:
        missing = set(self._roster.without_slot)
        for environment in sorted(missing - self._reported_missing):
            _log.error(
                "No further slot can be started for the plugin environment %s: its tasks wait until one of %d extra "
                "slots is free", environment, self._max_extra_slots,
            )  # fmt: skip
        self._reported_missing = missing

    def _find_room(self, task: TaskRun, link: SlotLink, reason: str) -> None:
        """A slot has no file descriptors left for a task: the slot gets no more tasks, and the task moves if another
        slot has room."""
        if self._roster.tasks.get(task.spec.id) is not task:
            link.remove(task)
            task.end()
        elif self._roster.crowded(link):
            self._roster.returned(link, task)
            self._place_soon()
        else:
            link.remove(task)
            self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, reason)
            task.failed = True
            task.end()

    def _refuse(self, task: TaskRun, link: SlotLink, trace: str) -> None:
        link.remove(task)
        task.end()
        report = self._listener.task_state  # called later: the herder is still in start_task()
        asyncio.get_running_loop().call_soon(report, task.spec.id, task.spec.epoch, State.FAILED, trace)
