"""Looks at all slots now and then: which have fallen silent, which are stuck, which are not needed any more."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runtime.engine.placement.roster import Roster, SlotLink
from runtime.engine.protocol.settings import EngineSettings
from runtime.system.scheduling import Delay

_log = logging.getLogger(__name__)

LEAK_TIMEOUT = 5.0  # how long a revoked thread may go on before its slot, once free of other tasks, is replaced
MAX_SILENCE_LEASES = 5  # in leases; then a slot is given up even if it hardly got a processor
LIMIT_GROWTH = 1.1  # factor by which a limited slot's number of tasks grows at each check
CROWDED_LOG_INTERVAL = 30.0  # seconds between two log lines about waiting tasks
MISSING_AFTER = 10.0  # how long an extra slot may take to come before it is said


@dataclass(slots=True)
class SlotWatch:
    """Times are seconds of `clock`."""

    roster: Roster
    settings: EngineSettings
    clock: Callable[[], float]
    crowded: float = math.inf  # when waiting tasks are next reported

    @property
    def every(self) -> float:
        return self.settings.lease_ttl / 3

    def lapsed(self) -> Sequence[SlotLink]:
        """Slots whose lease is over, which is not renewed. On this machine the driver ends them as well."""
        now = self.clock()
        return [link for link in self.roster.links.values() if link.lapsed(now)]

    def fallen_silent(self) -> Iterator[SlotLink]:
        """Slots that have just stopped answering."""
        now = self.clock()
        for link in self.roster.links.values():
            if now - link.heard <= self.settings.lease_ttl:
                link.silence = None
            elif link.silence is None:
                link.silence = Delay(link.process.pid)
                yield link

    def dead(self) -> Iterator[tuple[SlotLink, float]]:
        """Slots to give up, with the seconds for which they have not answered.

        The time during which a slot had to wait for a processor does not count against it, up to a limit: a task that
        holds the interpreter must not hold up its neighbours for long on a busy machine either."""
        now, ttl = self.clock(), self.settings.lease_ttl
        for link in list(self.roster.links.values()):
            if link.silence is None:
                continue
            silence, delay = now - link.heard, link.silence.look()
            if silence - delay > ttl * 4 / 3 or silence > ttl * MAX_SILENCE_LEASES:
                link.starved = delay > silence / 2
                yield link, silence

    def too_large(self) -> Sequence[SlotLink]:
        """Slots that take more memory than they may: some plugin in them leaks, or wants a slot of its own."""
        most = self.settings.slot_memory
        return [link for link in self.roster.links.values() if 0 < most < link.memory]

    def replace_stuck(self) -> None:
        """Have slots leave in which nothing runs but threads that cannot be revoked."""
        for link in self.roster.links.values():
            if link.stuck(self.clock() - LEAK_TIMEOUT):
                _log.warning("Slot %d is replaced: revoked tasks go on in it", link.slot)
                link.send({"op": "leave"})

    def look_at_extras(self) -> None:
        """Give back those that nobody needs any more, and say which ones do not come."""
        extras, links, now = self.roster.extras, self.roster.links, self.clock()
        for number in extras.missing(links, now - MISSING_AFTER):
            _log.warning("Slot %d is wanted and has not come for %g s; has Spark a core free?", number, MISSING_AFTER)
        for number in extras.idle([slot for slot, link in links.items() if link.tasks], now):
            extras.remove(number)
            if number in links:
                links[number].send({"op": "leave"})

    def look_at_waiting(self) -> None:
        """Log that tasks have been waiting for long, and why."""
        now, waiting = self.clock(), self.roster.waiting
        if not waiting or not self.roster.links:
            self.crowded = math.inf
        elif self.crowded == math.inf:
            self.crowded = now + CROWDED_LOG_INTERVAL / 2
        elif now >= self.crowded:
            self.crowded = now + CROWDED_LOG_INTERVAL
            running = sum(len(link.tasks) for link in self.roster.links.values())
            _log.warning(
                "Tasks waiting to be started: %d; running: %d. This worker's slots are busy or have as many tasks "
                "as they can bear. Add processors or raise headrace.slots; the tasks start as soon as there is room",
                waiting,
                running,
            )

    def lift_limits(self) -> None:
        """Raise the limit of slots that died while starting tasks step by step, as long as they live."""
        for link in self.roster.links.values():
            if link.most < math.inf and not link.admission.busy(self.clock()):
                link.most *= LIMIT_GROWTH
