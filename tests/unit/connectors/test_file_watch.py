from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from runtime.connectors.file_watch import file_watcher

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is Linux's")


def test_changes_are_told_once_to_everybody(tmp_path: Path) -> None:
    watcher = file_watcher()
    assert watcher is not None
    file, first, second = tmp_path / "file", threading.Semaphore(0), threading.Semaphore(0)
    file.touch()
    assert watcher.once(str(file), first.release)
    assert watcher.once(str(file), second.release)
    for line in ("one\n", "two\n"):
        with file.open("a") as out:
            out.write(line)
    assert first.acquire(timeout=5)
    assert second.acquire(timeout=5)
    again = threading.Semaphore(0)
    assert watcher.once(str(file), again.release)
    file.rename(tmp_path / "other")
    assert again.acquire(timeout=5)
    assert not first.acquire(blocking=False)


def test_what_does_not_exist_cannot_be_watched(tmp_path: Path) -> None:
    watcher = file_watcher()
    assert watcher is not None
    assert not watcher.once(str(tmp_path / "nowhere"), lambda: None)
