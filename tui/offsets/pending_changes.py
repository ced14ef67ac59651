"""Changes of offsets in progress, stored on disk before each step so that a killed console's change can be finished."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import uuid4

from tui import model, private_file
from tui.errors import Conflict, HeadraceError
from tui.formatting import counted
from tui.model import Offset
from tui.offsets import files
from tui.offsets.changes import ChangeKind, OffsetChange
from tui.offsets.plan import OffsetPlan, PlanAction

Json = Any


class ChangeStep(Enum):
    """The step that is about to start."""

    STOPPING = "stopping"  # no offset is altered yet
    ALTERING = "altering"  # the change may have taken effect, also in part
    RESUMING = "resuming"  # the offsets are altered


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change in progress. `before` are all offsets of the stopped connector before the change; None until read."""

    plan: OffsetPlan
    step: ChangeStep
    before: tuple[Offset, ...] | None = None
    who: str = ""
    id: str = field(default_factory=lambda: uuid4().hex)
    time: int = field(default_factory=lambda: int(time.time() * 1000))  # milliseconds since 1970

    @property
    def text(self) -> str:
        """A description for the operator who finds an interrupted change."""
        count = len(self.plan.changes)
        change = f"{self.plan.action.value} of {counted(count, 'offset')}"
        return f"{change}, interrupted while {self.step.value}; {self.plan.name} was {self.plan.state} before it"


class ChangeLock:
    """Exclusive access, among the consoles of this machine, to one connector's offsets and its pending change."""

    def __init__(self, path: Path, lock: files.Lock) -> None:
        self._path, self._lock = path, lock

    def write(self, pending: PendingChange) -> None:
        files.replace(self._path, json.dumps(_document(pending)))

    def drop(self) -> None:
        """Removes the stored change: it is complete, or was rolled back."""
        with files.naming_file(self._path):
            self._path.unlink(missing_ok=True)

    def release(self) -> None:
        self._lock.release()


class PendingChanges:
    """Pending changes of one cluster, one file for each connector."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def lock(self, name: str) -> ChangeLock:
        """Raises Conflict while another console holds the lock."""
        path = self._path(name)
        try:
            return ChangeLock(path, files.Lock(path.with_suffix(".lock")))
        except files.LockHeld:
            raise Conflict(f"another console on this machine is changing the offsets of {name}", 409) from None

    def of(self, name: str) -> PendingChange | None:
        return self._read(self._path(name))

    def interrupted(self) -> list[PendingChange]:
        """Changes that no console is carrying out, oldest first."""
        interrupted = [pending for path in self._files() if self._is_free(path) and (pending := self._read(path))]
        return sorted(interrupted, key=lambda pending: pending.time)

    def _files(self) -> Iterator[Path]:
        return self.folder.glob("*.json") if self.folder.is_dir() else iter(())

    def _is_free(self, path: Path) -> bool:
        try:
            files.Lock(path.with_suffix(".lock")).release()
        except files.LockHeld:
            return False
        return True

    def _path(self, name: str) -> Path:
        return self.folder / f"{files.file_name(name)}.json"

    def _read(self, path: Path) -> PendingChange | None:
        with files.naming_file(path):
            try:
                text = private_file.read(path)
            except FileNotFoundError:
                return None
        try:
            return _parsed(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise HeadraceError(
                f"{path} is not a change that this version understands: {error}", "check the file, then remove it"
            ) from error


def _document(pending: PendingChange) -> Json:
    plan = pending.plan
    return {
        "headrace": 1,
        "id": pending.id,
        "time": pending.time,
        "who": pending.who,
        "why": plan.why,
        "connector": plan.name,
        "action": plan.action.value,
        "step": pending.step.value,
        "state": plan.state,
        "ran": plan.ran,
        "base": _entries(plan.base),
        "before": _entries(pending.before),
        "changes": [[c.kind.value, c.partition, c.before, c.after] for c in plan.changes],
    }


def _entries(offsets: tuple[Offset, ...] | None) -> Json:
    return None if offsets is None else [entry.entry() for entry in offsets]


def _parsed(d: Json) -> PendingChange:
    changes = tuple(
        OffsetChange(ChangeKind(kind), partition, before, after) for kind, partition, before, after in d["changes"]
    )
    base, before = (None if d[key] is None else model.offsets({"offsets": d[key]}) for key in ("base", "before"))
    plan = OffsetPlan(d["connector"], base, changes, d["state"], d["ran"], PlanAction(d["action"]), d["why"])
    return PendingChange(plan, ChangeStep(d["step"]), before, d["who"], d["id"], d["time"])


def advanced(pending: PendingChange, step: ChangeStep, before: tuple[Offset, ...] | None = None) -> PendingChange:
    """The change at a later step."""
    return replace(pending, step=step, before=pending.before if before is None else before)
