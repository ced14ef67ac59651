"""Slots that died while they were starting tasks: the next process starts fewer at once, and in the end has fewer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtime.engine.admission import FIRST, Admission

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
"""Seconds before a slot that died while starting tasks is given some again."""


@dataclass(slots=True)
class _Record:
    deaths: int = 0
    most: float = math.inf


class StartHistory:
    """By the number of the slot; all times are seconds of one clock."""

    def __init__(self) -> None:
        self._records: dict[int, _Record] = {}

    def slot_died(self, slot: int, starting: int, tasks: int) -> None:
        """A slot with so many tasks is gone; so many of them had not started yet."""
        if not starting:
            self._records.pop(slot, None)
            return
        record = self._records.setdefault(slot, _Record())
        record.deaths += 1
        if record.deaths > 1:
            record.most = max(tasks // 2, 1)

    def of(self, slot: int, now: float) -> tuple[Admission, float]:
        """How a new process of the slot is to be given tasks, and how many at most."""
        record = self._records.get(slot)
        if record is None:
            return Admission(), math.inf
        pause = min(_FIRST_PAUSE * 2**record.deaths, _LONGEST_PAUSE)
        return Admission(max(FIRST / 2**record.deaths, 1.0), now + pause), record.most
