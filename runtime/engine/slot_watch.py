"""Looks at all slots now and then: which have fallen silent, which are stuck, which are not needed any more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runtime.engine.roster import Link, Roster
from runtime.engine.settings import EngineSettings

_log = logging.getLogger(__name__)

LEAK_TIMEOUT = 5.0  # how long a revoked thread may go on before its slot, once free of other tasks, is replaced
LATE = 10.0  # how long an extra slot may take to come before it is said


@dataclass(slots=True)
class SlotWatch:
    """Times are seconds of `clock`."""

    roster: Roster
    settings: EngineSettings
    clock: Callable[[], float]

    @property
    def every(self) -> float:
        return self.settings.lease_ttl / 3

    def silent(self) -> Iterator[tuple[Link, float]]:
        """Slots that do not ask for their lease any more, and for how long they have not."""
        now = self.clock()
        for link in list(self.roster.links.values()):
            if now - link.heard > self.settings.lease_ttl * 4 / 3:
                yield link, now - link.heard

    def too_large(self) -> Sequence[Link]:
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
        for number in extras.missing(links, now - LATE):
            _log.warning("Slot %d is wanted and has not come for %g s; has Spark a core free?", number, LATE)
        for number in extras.idle([slot for slot, link in links.items() if link.tasks], now):
            extras.remove(number)
            if number in links:
                links[number].send({"op": "leave"})
