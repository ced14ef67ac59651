"""Slots that died while starting tasks: the next process starts fewer tasks at once, and later has fewer in total."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtime.engine.placement.admission import FIRST_WINDOW, Admission

_FIRST_PAUSE, _MAX_PAUSE = 0.5, 10.0
"""Seconds before a slot that died while starting tasks gets tasks again."""


@dataclass(slots=True)
class _Record:
    deaths: int = 0
    most: float = math.inf


class StartHistory:
    """Entries by slot number; all times are seconds of one clock."""

    def __init__(self) -> None:
        self._records: dict[int, _Record] = {}

    def slot_died(self, slot: int, starting: int, tasks: int) -> None:
        """A slot with `tasks` tasks has ended, of which `starting` had not started yet."""
        if not starting:
            self._records.pop(slot, None)
            return
        record = self._records.setdefault(slot, _Record())
        record.deaths += 1
        if record.deaths > 1:
            record.most = max(tasks // 2, 1)

    def of(self, slot: int, now: float) -> tuple[Admission, float]:
        """The admission of tasks for a new process of the slot, and its limit of tasks."""
        record = self._records.get(slot)
        if record is None:
            return Admission(), math.inf
        pause = min(_FIRST_PAUSE * 2**record.deaths, _MAX_PAUSE)
        return Admission(max(FIRST_WINDOW / 2**record.deaths, 1.0), now + pause), record.most
