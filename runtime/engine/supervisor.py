"""The engine in the worker: places tasks on slots, hears what becomes of them, keeps the driver running."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from runtime.engine.channel import ChannelError, Message
from runtime.engine.keeper import DriverKeeper
from runtime.engine.port import EngineListener, SlotInfo, TaskStack
from runtime.engine.remains import kill as kill_process
from runtime.engine.remains import last_stack
from runtime.engine.roster import Link, Roster, Task
from runtime.engine.server import SlotServer
from runtime.engine.settings import EngineSettings
from runtime.engine.slot_watch import SlotWatch
from runtime.engine.stacks import Stacks
from runtime.engine.suspects import BLAMELESS
from runtime.engine.wire import about, key_of
from runtime.task_spec import TaskSpec
from runtime.vocabulary import State, TaskId

_log = logging.getLogger(__name__)

UNASKED_END = "The task has ended although nobody had stopped it, and without an error"


class SparkEngine:
    """The engine of port.py. Everything happens on one event loop."""

    def __init__(
        self,
        settings: EngineSettings,
        listener: EngineListener,
        lease: Callable[[], float] = lambda: math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`lease` says for how many seconds this worker's membership in its group is still confirmed."""
        self._settings = settings
        self._listener = listener
        self._lease = lease
        self._clock = clock
        self._server = SlotServer(self, clock)
        self._roster = Roster(settings.slots, settings.slot_wait, clock, settings.most_extras)
        self._former_members: dict[TaskId, str] = {}
        self._levels: dict[str, str] = {}
        self._stacks = Stacks()
        self._held = False  # the lease, when it was last looked at
        self._commits: set[asyncio.Task[None]] = set()
        self._keeper: DriverKeeper | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._closing = False

    # What the herder calls

    @property
    def slots(self) -> Sequence[SlotInfo]:
        return [link.info() for _, link in sorted(self._roster.links.items())]

    def may_run(self) -> bool:
        held = self._lease() > 0
        if held != self._held:
            self._held = held
            self._listener.lease_changed(held)
        return held

    async def start(self) -> None:
        await self._server.start()
        self._keeper = DriverKeeper(
            self._settings, self._server.port, self._server.token, self._driver_ended, self._driver_line
        )
        self._keeping = asyncio.create_task(self._keeper.run())
        self._watching = asyncio.create_task(self._watch_slots())

    def start_task(self, spec: TaskSpec) -> None:
        former = self._roster.tasks.pop(spec.id, None)
        if former is not None:
            self._revoke(former)
        self._former_members.pop(spec.id, None)
        self._roster.tasks[spec.id] = Task(spec)
        self._place()

    async def stop_task(self, task: TaskId, graceful: float) -> bool:
        stopping = self._roster.tasks.pop(task, None)
        if stopping is None or stopping.link is None or stopping.ended.is_set():
            return True
        stopping.link.send(about("stop", stopping.spec))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(graceful):
                await stopping.ended.wait()
        if stopping.ended.is_set() and not stopping.lost:
            return True
        if stopping.member_id:
            self._former_members[task] = stopping.member_id
        self._revoke(stopping)
        return False

    def pause_task(self, task: TaskId, paused: bool) -> None:
        found = self._roster.tasks.get(task)
        if found is None or found.ended.is_set():
            return
        if found.link is None:
            found.spec = replace(found.spec, paused=paused)
        else:
            found.link.send(about("pause", found.spec, paused=paused))

    def forget_topics(self, connector: str) -> None:
        for task in self._roster.tasks.values():
            if task.spec.connector == connector and task.link is not None and not task.ended.is_set():
                task.link.send(about("forget_topics", task.spec))

    def set_levels(self, levels: Mapping[str, str]) -> None:
        self._levels = dict(levels)
        for link in self._roster.links.values():
            link.send({"op": "levels", "levels": self._levels})

    async def stack(self, task: TaskId, within: float) -> TaskStack | None:
        found = self._roster.tasks.get(task)
        if found is None or found.link is None or found.ended.is_set():
            return None
        return await self._stacks.ask(found, within)

    def member_id(self, task: TaskId) -> str | None:
        """The group member id of a task whose stop_task() was False: its consumer may still be in its group."""
        return self._former_members.get(task)

    async def close(self, graceful: float) -> None:
        await asyncio.gather(*(self.stop_task(task, graceful) for task in list(self._roster.tasks)))
        self._closing = True
        for link in self._roster.links.values():
            link.send({"op": "leave"})
        if self._keeper is not None and self._keeping is not None and self._watching is not None:
            self._watching.cancel()
            self._keeper.close()
            await self._keeping
        await self._server.close()
        for link in list(self._roster.links.values()):
            self._drop(link, "the engine closes", kill=True)

    # What the slots' channel calls

    def link_up(self, link: Link) -> bool:
        assert self._keeper
        wanted = self._roster.extras.wanted(link.slot)
        if self._closing or not wanted or link.generation != self._keeper.generation:
            return False
        former = self._roster.links.get(link.slot)
        if former is not None:
            self._drop(former, "another process has taken its place", kill=True)
        elif not self._roster.links:
            self._await_missing()
        self._roster.links[link.slot] = link
        link.send({"op": "welcome", "stuck_after": self._settings.stuck_after})
        if self._levels:
            link.send({"op": "levels", "levels": self._levels})
        _log.info("Slot %d is up (process %d, attempt %d)", link.slot, link.pid, link.attempt)
        self._listener.slots_changed()
        if len(self._roster.links) >= self._settings.slots:
            self._keeper.record_archive()
        return True

    def link_message(self, link: Link, message: Message) -> None:
        match message["op"]:
            case "renew":
                self._renew(link, message["at"])
            case "meters":
                for one in message["tasks"]:
                    if (measured := link.tasks.get(key_of(one))) is not None:
                        self._listener.task_meter(measured.spec.id, measured.spec.epoch, one["meter"])
            case "log":
                self._listener.log(message["level"], message["logger"], message["message"], message["context"])
            case _:
                task = link.tasks.get(key_of(message))
                if task is not None:
                    self._task_report(task, link, message)

    def _renew(self, link: Link, asked_at: float) -> None:
        link.heard = self._clock()
        self.may_run()
        ttl = min(self._settings.lease_ttl, self._lease())
        if ttl > 0:
            link.send({"op": "lease", "at": asked_at, "ttl": ttl})
        if link.leased != (ttl > 0):
            link.leased = ttl > 0
            self._place()

    def _task_report(self, task: Task, link: Link, message: Message) -> None:
        current = self._roster.tasks.get(task.spec.id) is task  # else the herder has stopped it: nobody wants to know
        match message["op"]:
            case "state":
                state = State(message["state"])
                task.failed = state is State.FAILED
                if current:
                    self._listener.task_state(task.spec.id, task.spec.epoch, state, message["trace"])
            case "topic" if current:
                self._listener.task_topic(task.spec.id, task.spec.epoch, message["topic"])
            case "offsets" if task.revoked_at is None:  # also of one that is just stopping
                commit = asyncio.create_task(self._keep_offsets(task, link, message))
                self._commits.add(commit)
                commit.add_done_callback(self._commits.discard)
            case "stuck" if current:
                self._listener.task_stuck(task.spec.id, task.spec.epoch, message["call"], message["seconds"])
            case "errors":  # also of one that is just stopping
                self._listener.task_errors(task.spec.id, task.spec.epoch, message["counts"])
            case "stack":
                self._stacks.answered(message)
            case "no_room":
                self._find_room(task, link, message["reason"])
            case "member":
                task.member_id = message["member_id"]
            case "ended":
                del link.tasks[task.key]
                task.ended.set()
                if current and not task.failed:
                    self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, UNASKED_END)

    async def _keep_offsets(self, task: Task, link: Link, message: Message) -> None:
        records = [(key.encode(), None if value is None else value.encode()) for key, value in message["records"]]
        error = None
        try:
            await self._listener.task_offsets(task.spec.id, records)
        except Exception as e:  # the task tries again
            error = str(e) or type(e).__name__
        link.send({"op": "offsets", "number": message["number"], "error": error})

    def link_down(self, link: Link) -> None:
        if self._roster.links.get(link.slot) is link:
            self._drop(link, "its process has ended")

    # Placing

    def _place(self) -> None:
        for task, link in self._roster.placements():
            try:
                link.send({"op": "start", "spec": task.spec})
            except (ChannelError, TypeError, ValueError):  # too long, or not JSON
                self._refuse(task, link, traceback.format_exc())
        self._want_slots()

    def _find_room(self, task: Task, link: Link, reason: str) -> None:
        """A slot has no descriptors left for a task: it is not given more, and the task goes elsewhere if it can."""
        del link.tasks[task.key]
        if self._roster.tasks.get(task.spec.id) is not task:
            task.ended.set()
        elif self._roster.crowded(link):
            task.link = None
            self._place()
        else:
            self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, reason)
            task.failed = True
            task.ended.set()

    def _refuse(self, task: Task, link: Link, trace: str) -> None:
        del link.tasks[task.key]
        task.ended.set()
        tell = self._listener.task_state  # later: the herder is just starting it
        asyncio.get_running_loop().call_soon(tell, task.spec.id, task.spec.epoch, State.FAILED, trace)

    def _await_missing(self) -> None:
        """Slots are missing that will be back in a moment; those that are there take everything after it."""
        self._roster.missing_slot()
        asyncio.get_running_loop().call_later(self._settings.slot_wait + 0.01, self._place)

    def _revoke(self, task: Task) -> None:
        if task.link is not None and not task.ended.is_set():
            task.revoked_at = self._clock()
            task.link.send(about("revoke", task.spec))

    # Losses

    def _drop(self, link: Link, reason: str, kill: bool = False) -> None:
        """Forget a slot; every task on it is lost."""
        del self._roster.links[link.slot]
        link.writer.close()
        if kill and self._settings.local:
            kill_process(link)
        if not link.tasks and not self._roster.extras.wanted(link.slot):
            _log.info("Slot %d was not needed any more", link.slot)
            return
        for task in link.tasks.values():
            task.lost = True
            task.ended.set()
        lost = [task for task in link.tasks.values() if self._roster.tasks.get(task.spec.id) is task]
        for task in lost:
            del self._roster.tasks[task.spec.id]
        if self._closing:
            return
        _log.warning("Slot %d is gone: %s; %d tasks were on it", link.slot, reason, len(lost))
        if self.may_run():
            self._tell_stack(link)
            self._suspect(link)
        else:  # not its fault
            _log.info("Slot %d had no lease any more: this worker's place in its group is not confirmed", link.slot)
        self._await_missing()
        self._listener.slots_changed()
        for task in lost:
            reason_of_task = f"slot {link.slot} is gone: {reason}"
            self._listener.task_lost(task.spec.id, task.spec.epoch, task.member_id, reason_of_task)

    def _tell_stack(self, link: Link) -> None:
        assert self._keeper
        if stack := last_stack(self._keeper.folder, link):
            text = f"The lease of slot {link.slot} ended before it was renewed. It was here:\n{stack}"
            self._listener.log("ERROR", __name__, text, "")

    def _suspect(self, link: Link) -> None:
        suspects = self._roster.slot_died(link)
        if suspects:  # said a little later: it may turn out to have been the driver's end
            asyncio.get_running_loop().call_later(BLAMELESS, self._tell_suspects, suspects)

    def _tell_suspects(self, suspects: Sequence[TaskId]) -> None:
        kept = [str(task) for task in suspects if self._roster.suspects.cell(task, self._clock()) is not None]
        if kept:
            more = f" and {len(kept) - 5} more" if len(kept) > 5 else ""
            _log.warning("Slots of %s%s keep dying: kept apart from other tasks for now", ", ".join(kept[:5]), more)

    async def _watch_slots(self) -> None:
        watch = SlotWatch(self._roster, self._settings.lease_ttl, self._clock)
        while True:
            await asyncio.sleep(watch.every)
            self.may_run()
            for link, silence in watch.silent():
                self._drop(link, f"it was not heard of for {silence:.1f} s", kill=True)
            watch.replace_stuck()
            watch.look_at_extras()
            self._want_slots()

    def _want_slots(self) -> None:
        if self._keeper is not None:
            self._keeper.want(self._roster.extras.numbers)

    def _driver_ended(self) -> None:
        self._roster.suspects.driver_ended(self._clock())
        for link in list(self._roster.links.values()):
            self._drop(link, "Spark's driver has ended", kill=True)

    def _driver_line(self, level: str, line: str) -> None:
        self._listener.log(level, "runtime.engine.driver", line, "")
