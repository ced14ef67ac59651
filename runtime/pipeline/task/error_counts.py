"""Counts of a task's failed records: written by the task's thread and by those that report errant records."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runtime.logs.formats import cut
from runtime.pipeline.task.failure import java_name, message_of

if TYPE_CHECKING:
    from runtime.pipeline.task.failure import Failure

MAX_KEPT = 10
"""Number of newest failures that are kept."""

_MAX_TEXT = 2000
"""Maximum number of characters of a text: twice as many as the worker shows when it has hidden secrets in them, so that
half a secret is never at the end."""


@dataclass(slots=True)
class StageCounts:
    """Counts of one stage."""

    failed: int = 0  # after all retries
    skipped: int = 0
    retries: int = 0
    dead_letters: int = 0  # handed to the producer of the dead letter topic


@dataclass(slots=True)
class Counts:
    """Counts of one run of a task (Connect: task-error-metrics). `changes` rises with every count."""

    failures: int = 0  # failed operations, including retries
    errors: int = 0  # records that failed after all retries
    skipped: int = 0
    retries: int = 0
    logged: int = 0
    dead_letters: int = 0
    dead_letter_failures: int = 0
    stages: dict[str, StageCounts] = field(default_factory=dict)
    last: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_KEPT))
    changes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def failed_try(self) -> None:
        """An operation on a record raised; it may be retried."""
        with self._lock:
            self.failures += 1
            self.changes += 1

    def retried(self, stage: str) -> None:
        """An operation is retried."""
        with self._lock:
            self.retries += 1
            self._stage(stage).retries += 1
            self.changes += 1

    def was_skipped(self, stage: str) -> None:
        """A record was skipped."""
        with self._lock:
            self.skipped += 1
            self._stage(stage).skipped += 1
            self.changes += 1

    def was_logged(self) -> None:
        """A failed record was logged."""
        with self._lock:
            self.logged += 1
            self.changes += 1

    def failed(self, failure: Failure) -> None:
        """A record failed after all retries."""
        described = _described(failure)
        with self._lock:
            self.errors += 1
            self._stage(failure.stage).failed += 1
            self.last.append(described)
            self.changes += 1

    def put_aside(self, failure: Failure) -> None:
        """A record is sent to the dead letter topic."""
        with self._lock:
            self.dead_letters += 1
            self._stage(failure.stage).dead_letters += 1
            self.changes += 1

    def not_put_aside(self) -> None:
        """A record could not be written to the dead letter topic."""
        with self._lock:
            self.dead_letter_failures += 1
            self.changes += 1

    def snapshot(self) -> dict[str, Any]:
        """The counts as JSON. Counts made meanwhile are in the next snapshot."""
        totals = {
            "failed": self.errors,
            "skipped": self.skipped,
            "retries": self.retries,
            "failed_tries": self.failures,
            "logged": self.logged,
            "dead_letters": self.dead_letters,
            "dead_letter_failures": self.dead_letter_failures,
        }
        stages = {
            stage: {
                "failed": counts.failed,
                "skipped": counts.skipped,
                "retries": counts.retries,
                "dead_letters": counts.dead_letters,
            }
            for stage, counts in self.stages.copy().items()
        }
        return {"total": totals, "stages": stages, "last": list(self.last.copy())}

    def _stage(self, stage: str) -> StageCounts:
        return self.stages.setdefault(str(stage), StageCounts())


def _described(failure: Failure) -> dict[str, Any]:
    """A failure without the record's content."""
    error = failure.error
    described = {
        "time": int(time.time() * 1000),
        "stage": str(failure.stage),
        "class": failure.plugin,
        "exception": java_name(error),
        "message": _text(message_of(error)),
    }
    if error.__cause__ is not None:
        described["cause"] = _text(f"{java_name(error.__cause__)}: {message_of(error.__cause__)}")
    return {**described, **_place(failure.record)}


def _text(text: str) -> str:
    return cut(text, _MAX_TEXT).encode("utf-8", "backslashreplace").decode()


def _place(record: Any) -> dict[str, Any]:
    """The position of a record: a Kafka message (sinks) or a source record."""
    if record is None:
        return {}
    if hasattr(record, "source_partition"):
        return {
            "topic": _text(str(record.topic)),
            "source_partition": _plain(record.source_partition),
            "source_offset": _plain(record.source_offset),
        }
    if not callable(record.topic):
        return {"topic": _text(str(record.topic))}
    return {"topic": record.topic(), "partition": record.partition(), "offset": record.offset()}


def _plain(place: Any) -> str | None:
    return None if place is None else cut(str(dict(place)), _MAX_TEXT)
