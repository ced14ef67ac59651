"""Periodic checks for slots that are silent, stuck, too large, missing or no longer needed."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.protocol.settings import EngineSettings
from runtime.system.cgroup import Cgroup
from runtime.system.scheduling import Delay

CORE_WAIT = 10.0
"""Seconds for which a slot waits for a core before that is reported: executors may be starting."""

_REMEDY = "Add executors or cores (spark.cores.max, spark.dynamicAllocation.enabled), or lower headrace.slots"


class CoreWaits:
    """Event loop only. `report` gets each task that waits with such a slot, once, with the reason; None when it no
    longer waits for a core."""

    def __init__(
        self, roster: Roster, master: str, clock: Callable[[], float], report: Callable[[TaskRun, str | None], None]
    ) -> None:
        self._roster, self._master, self._clock, self._report = roster, master, clock, report
        self._since: dict[int, float] = {}
        self._logged: set[int] = set()
        self.tasks: Sequence[TaskRun] = ()
        """Those that have been reported."""

    @property
    def slots(self) -> Sequence[int]:
        """The slots that have waited for CORE_WAIT."""
        now, links = self._clock(), self._roster.links
        wanted = [slot for slot in self._since if slot not in links and self._roster.extras.is_wanted(slot)]
        return sorted(slot for slot in wanted if now - self._since[slot] >= CORE_WAIT)

    def changed(self, waiting: Sequence[int]) -> Sequence[int]:
        """Spark has no core for these slots, and for no others. Returns the slots that had not been waiting before."""
        new, now = sorted({*waiting} - {*self._since}), self._clock()
        self._since = {slot: self._since.get(slot, now) for slot in waiting}
        return new

    def check(self) -> None:
        """Log slots that have waited for long, and report their tasks."""
        slots = self.slots
        if new := [slot for slot in slots if slot not in self._logged]:
            text = "Slot(s) %s wait for a core: no executor of %s has a free one. %s"
            _log.warning(text, _list(new), self._master, _REMEDY)
        self._logged = {*slots}
        tasks = self._roster.waiting_for(slots) if slots else []
        known, current = {id(task) for task in self.tasks}, {id(task) for task in tasks}
        for task in self.tasks:
            if id(task) not in current and self._roster.is_waiting(task):
                self._report(task, None)
        reason = f"Waiting for a core: slot(s) {_list(slots)} have none on {self._master}. {_REMEDY}"
        for task in tasks:
            if id(task) not in known:
                self._report(task, reason)
        self.tasks = tasks


def _list(slots: Sequence[int]) -> str:
    return ", ".join(map(str, slots))


# Slots on other machines whose connections are lost: their tasks wait until their processes have certainly ended.
#
# A lost connection proves nothing about a process on another machine: a network may fail, and a process may be stopped
# and continue. It has ended when Spark says so, or when its lease has ended.
Lose = Callable[[SlotLink, str], None]


class LostLinks:
    """Event loop only."""

    def __init__(self, clock: Callable[[], float], lose: Lose) -> None:
        """`lose` is called with each link, and the reason of its loss, when its tasks may start elsewhere."""
        self._clock, self._lose = clock, lose
        self._held: dict[SlotLink, tuple[str, asyncio.TimerHandle]] = {}
        self._none_left = asyncio.Event()
        self._none_left.set()

    def hold(self, link: SlotLink, reason: str) -> float:
        """Wait for the end of a slot's process. Returns the longest time in seconds; 0: its tasks are free already."""
        seconds = link.free_from - self._clock()
        if seconds <= 0:
            self._lose(link, reason)
            return 0.0
        self._held[link] = reason, asyncio.get_running_loop().call_later(seconds, self._release, link)
        self._none_left.clear()
        return seconds

    def ended(self, generation: int, slot: int, attempt: int) -> None:
        """Spark has reported the end of a slot's process. One that was cut off has ended with its lease: no task is at
        fault."""
        for link in [held for held in self._held if held.is_attempt(generation, slot, attempt)]:
            link.process_ended = link.hung_up
            self._release(link)

    async def none_left(self) -> None:
        """Wait until the processes of all lost slots have ended."""
        await self._none_left.wait()

    def _release(self, link: SlotLink) -> None:
        reason, timer = self._held.pop(link)
        timer.cancel()
        if not self._held:
            self._none_left.set()
        self._lose(link, reason)


_log = logging.getLogger(__name__)

LITTLE_MEMORY = 0.1  # part of the memory limit
LARGE_SLOT = 0.25  # part of the memory limit
LEAK_TIMEOUT = 5.0  # seconds after which a slot with only revoked tasks is replaced
MAX_SILENCE_LEASES = 5  # lease times after which a silent slot is given up even if it got almost no processor time
LIMIT_GROWTH = 1.1  # factor by which the task limit of a slot grows at each check
CROWDED_LOG_INTERVAL = 30.0  # seconds between two log lines about waiting tasks
MAX_REPORTED = 200  # waiting tasks reported to the herder at once: each is a write to the status topic
MAX_CONNECT_FACTOR = 8  # by which the time for a slot to connect has grown at most
MISSING_AFTER = 10.0  # seconds for an extra slot to connect, before a warning is logged


@dataclass(slots=True)
class SlotWatch:
    """Times are seconds of `clock`."""

    roster: Roster
    settings: EngineSettings
    clock: Callable[[], float]
    group: Cgroup = field(default_factory=Cgroup)
    next_crowded_line: float = math.inf
    unreported: Sequence[TaskRun] = ()  # tasks that wait for long
    absent_since: dict[int, float] = field(default_factory=dict)
    connect_times: dict[int, float] = field(default_factory=dict)  # seconds that absent slots have to connect

    @property
    def every(self) -> float:
        """Seconds between two checks."""
        return self.settings.lease_ttl / 3

    def lapsed(self) -> Sequence[SlotLink]:
        """Slots whose lease has expired, which is never renewed. On this machine the driver ends them as well."""
        now = self.clock()
        return [link for link in self.roster.links.values() if link.lapsed(now)]

    def responding_again(self) -> Iterator[SlotLink]:
        """Slots that were silent and have answered since the last check."""
        now = self.clock()
        for link in self.roster.links.values():
            if link.silence is not None and now - link.heard <= self.settings.lease_ttl:
                link.silence = None
                yield link

    def fallen_silent(self) -> Iterator[SlotLink]:
        """Slots that have not answered for one lease time, each once."""
        now = self.clock()
        for link in self.roster.links.values():
            if link.silence is None and now - link.heard > self.settings.lease_ttl:
                link.silence = Delay([] if link.is_remote else [link.process.pid])
                yield link

    def dead(self) -> Iterator[tuple[SlotLink, float]]:
        """Slots to give up, with the seconds for which they have not answered.

        The time during which a slot had to wait for a processor does not count, up to a limit: on a busy machine, too,
        a task that holds the interpreter must not block the other tasks of its slot for long."""
        now, ttl = self.clock(), self.settings.lease_ttl
        for link in list(self.roster.links.values()):
            if link.silence is None:
                continue
            silence, delay = now - link.heard, link.silence.look()
            if silence - delay > ttl * 4 / 3 or silence > ttl * MAX_SILENCE_LEASES:
                link.starved = delay > silence / 2
                yield link, silence

    def too_large(self) -> Sequence[tuple[SlotLink, str]]:
        """Slots that use too much memory, and what they exceed: one of their plugins may leak memory. Before the kernel
        ends any process, the largest slot counts as one, if it has a good part of the memory."""
        limit = self.settings.slot_memory
        large = [link for link in self.roster.links.values() if 0 < limit < link.memory]
        if large or (short := self._short_of_memory()) is None:
            return [(link, "more than headrace.slot.memory.mb") for link in large]
        largest = max(self.roster.links.values(), key=lambda link: link.memory, default=None)
        if largest is None or largest.is_remote or largest.memory < short * LARGE_SLOT:
            return ()
        return [(largest, f"and the memory limit of this worker, {short >> 20} MB, is nearly reached")]

    def _short_of_memory(self) -> int | None:
        """The limit, if little of it is free."""
        limit, free = self.group.memory_limit, self.group.memory_free
        return limit if limit is not None and free is not None and free < limit * LITTLE_MEMORY else None

    def has_large_jvm(self, link: SlotLink) -> bool:
        """Whether a slot that is too large is so because of its JVM, so that it can keep its process."""
        own = link.memory - link.java_memory
        return link.java_memory > 0 and own <= (self.settings.slot_memory or link.java_memory)

    def replace_stuck(self) -> None:
        """Replace slots whose only remaining tasks are revoked and do not end, and slots that have been drained."""
        for link in self.roster.links.values():
            if link.draining and not link.leaving and not link.tasks:
                link.leave()
            elif not link.leaving and link.stuck(self.clock() - LEAK_TIMEOUT):
                _log.warning("Slot %d is replaced because revoked tasks do not end in it", link.slot)
                link.leave()

    def check_extras(self) -> None:
        """Give up extra slots that are no longer needed, and log extra slots that do not connect."""
        extras, links, now = self.roster.extras, self.roster.links, self.clock()
        for number in extras.missing(links, now - MISSING_AFTER):
            _log.warning(
                "Slot %d was requested more than %g s ago and has not connected: check that Spark has a free core",
                number, MISSING_AFTER,
            )  # fmt: skip
        busy = [slot for slot, link in links.items() if link.tasks]
        for number in extras.idle(busy, self.roster.awaited_cells(), now):
            extras.remove(number)
            if number in links:
                links[number].leave()

    def not_connecting(self, spark_runs: bool) -> Sequence[int]:
        """Slots that have not connected for slot_start_timeout, each again after twice the time, since the machine may
        be busy. Their processes may be frozen: such a process holds no connection that could end, and no lease that
        could expire."""
        now, links = self.clock(), self.roster.links
        missing = [slot for slot in self.roster.extras.numbers if slot not in links] if spark_runs else []
        self.absent_since = {slot: self.absent_since.get(slot, now) for slot in missing}
        timeout = self.settings.slot_start_timeout
        self.connect_times = {slot: self.connect_times.get(slot, timeout) for slot in missing}
        late = [slot for slot, since in self.absent_since.items() if now - since > self.connect_times[slot]]
        for slot in late:
            self.absent_since[slot] = now
            self.connect_times[slot] = min(self.connect_times[slot] * 2, timeout * MAX_CONNECT_FACTOR)
        return late

    def check_waiting(self, without_core: Collection[TaskRun] = ()) -> Sequence[TaskRun]:
        """Log from time to time that tasks are waiting for a slot, and why. Returns each task that waits then, once; of
        many tasks a part at each call. Tasks `without_core` are reported by CoreWaits, with another remedy."""
        now, waiting = self.clock(), [task for task in self.roster.waiting_tasks() if task not in without_core]
        if not waiting or not self.roster.links:
            self.next_crowded_line = math.inf
        elif self.next_crowded_line == math.inf:
            self.next_crowded_line = now + CROWDED_LOG_INTERVAL / 2
        elif now >= self.next_crowded_line:
            self.next_crowded_line = now + CROWDED_LOG_INTERVAL
            running = sum(len(link.tasks) for link in self.roster.links.values())
            _log.warning(
                "%d tasks are waiting to be started, %d are running: this worker's slots are busy or at their limit. "
                "Add processors or raise headrace.slots; the tasks start as soon as there is room",
                len(waiting),
                running,
            )
            self.unreported = [task for task in waiting if not task.reported_waiting]
        reported, self.unreported = self.unreported[:MAX_REPORTED], self.unreported[MAX_REPORTED:]
        for task in reported:
            task.reported_waiting = True
        return [task for task in reported if task.waiting]

    def lift_limits(self) -> None:
        """Raise the task limit of slots that died while starting tasks, step by step while they stay up."""
        for link in self.roster.links.values():
            if link.max_tasks < math.inf and not link.admission.busy(self.clock()):
                link.max_tasks *= LIMIT_GROWTH
