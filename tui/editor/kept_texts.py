"""Edited texts on disk until they are applied or discarded, so that they survive the console, however it ends.

A text has a file of its own, and a lock while its console runs: other consoles neither offer nor replace it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tui import private_file
from tui.offsets import files

OFFSETS, CONFIG, NEW_CONNECTOR = "offsets", "config", "new connector"


class KeptText(NamedTuple):
    """A text about a connector, or the values of a new one, whose `name` is its class. `fields`: what the editor needs
    to restore it."""

    kind: str
    name: str
    fields: Mapping[str, str]
    time: float  # seconds since 1970, of the last key


class KeptTexts:
    """The texts of one cluster. Raises HeadraceError if a file cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: dict[Path, files.Lock] = {}
        self._stored: dict[Path, Mapping[str, str]] = {}

    def keep(self, kind: str, name: str, fields: Mapping[str, str]) -> None:
        """Stores the text in place of the last one, unless another console edits the same."""
        path = self._path(kind, name)
        if self._stored.get(path) == fields:
            return
        if path not in self._locks:
            try:
                self._locks[path] = _locked(path)
            except files.LockHeld:
                return
        text = json.dumps({"kind": kind, "connector": name, "time": time.time(), "fields": fields})
        with files.naming_file(path):
            private_file.replace(path, text, durable=False)  # a key must not wait for the disk
        self._stored[path] = fields

    def forget(self, kind: str, name: str) -> None:
        """The text has been applied or discarded."""
        self._forget(self._path(kind, name))

    def forget_all(self) -> None:
        """The operator quits without the texts of this console."""
        for path in list(self._locks):
            self._forget(path)

    def _forget(self, path: Path) -> None:
        self._stored.pop(path, None)
        if (lock := self._locks.pop(path, None)) is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)
                lock.release()

    def take_over(self, kind: str, name: str) -> KeptText | None:
        """The text that a console has left behind when it ended; it is this console's from now on."""
        path = self._path(kind, name)
        if path in self._locks or not path.exists():
            return None
        with suppress(files.LockHeld):
            self._locks[path] = _locked(path)
            return _read(path)
        return None

    def left_behind(self) -> list[KeptText]:
        """The texts of consoles that have ended, oldest first."""
        return sorted(self._left_behind(), key=lambda text: text.time)

    def _left_behind(self) -> Iterator[KeptText]:
        for path in self._folder.glob("*.json"):
            if path in self._locks:
                continue
            with suppress(files.LockHeld):
                _locked(path).release()
                if (text := _read(path)) is not None:
                    yield text

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / f"{kind}-{files.file_name(name)}.json"


def _locked(path: Path) -> files.Lock:
    return files.Lock(path.with_suffix(".lock"))


def _read(path: Path) -> KeptText | None:
    """None if the file is gone, or not one of this version's."""
    try:
        document = json.loads(private_file.read(path))
        fields = {key: str(value) for key, value in document["fields"].items()}
        return KeptText(str(document["kind"]), str(document["connector"]), fields, float(document["time"]))
    except (AttributeError, OSError, ValueError, KeyError, TypeError):
        return None
