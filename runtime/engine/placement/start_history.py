"""Slots that died while starting tasks: the next process starts fewer tasks at once, and later gets fewer in total."""

from __future__ import annotations

import math
from dataclasses import dataclass

from runtime.engine.placement.admission import FIRST_WINDOW, Admission

FORGET_AFTER = 600.0
"""Seconds after its last death until a slot is treated like any other again."""

_FIRST_PAUSE, _MAX_PAUSE = 0.5, 10.0
"""Seconds before a slot that died while starting tasks gets tasks again."""

_MAX_DOUBLINGS = 10


@dataclass(slots=True)
class _Record:
    died_at: float
    deaths: int = 0
    max_tasks: float = math.inf


class StartHistory:
    """Entries by slot number; all times are seconds of one clock."""

    def __init__(self) -> None:
        self._records: dict[int, _Record] = {}

    def slot_died(self, slot: int, starting: int, tasks: int, now: float) -> None:
        """A slot with `tasks` tasks has ended, of which `starting` had not started yet."""
        if not starting:
            self._records.pop(slot, None)
            return
        record = self._recent(slot, now) or _Record(now)
        self._records[slot] = record
        record.deaths, record.died_at = record.deaths + 1, now
        if record.deaths > 1:
            record.max_tasks = max(tasks // 2, 1)

    def of(self, slot: int, now: float) -> tuple[Admission, float]:
        """The admission of tasks for a new process of the slot, and its limit of tasks."""
        record = self._recent(slot, now)
        if record is None:
            return Admission(), math.inf
        factor = 2 ** min(record.deaths, _MAX_DOUBLINGS)
        pause = min(_FIRST_PAUSE * factor, _MAX_PAUSE)
        return Admission(max(FIRST_WINDOW / factor, 1.0), now + pause), record.max_tasks

    def _recent(self, slot: int, now: float) -> _Record | None:
        record = self._records.get(slot)
        if record is not None and now - record.died_at > FORGET_AFTER:
            del self._records[slot]
            return None
        return record
