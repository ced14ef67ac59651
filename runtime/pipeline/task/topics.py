"""Topics that a task uses, for `GET /connectors/{name}/topics` (KIP-558)."""

from __future__ import annotations

import time
from collections.abc import Callable


class UsedTopics:
    """Topics that a task has used since the last reset, each to be reported once. use() is called on the task's thread,
    reset() on any other one."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._last_use: dict[str, float] = {}
        self._reported: set[str] = set()

    def use(self, topic: str) -> bool:
        """Note that a topic is used now; returns whether it has to be reported."""
        self._last_use[topic] = self._clock()  # before the check, since reset() relies on it
        if topic in self._reported:
            return False
        self._reported.add(topic)
        return True

    def reset(self, at: int) -> list[str]:
        """Forget topics that were used before a time, in milliseconds since 1970. Returns those used since, which have
        to be reported again: the request for a reset may arrive some time after the reset."""
        self._reported.clear()
        used = [topic for topic, last in list(self._last_use.items()) if last * 1000 >= at]
        self._reported.update(used)
        return used
