"""Reports of file changes."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from runtime.connectors.file_watch import FileWatcher, file_watcher

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify requires Linux")


@pytest.fixture
def watcher() -> FileWatcher:
    found = file_watcher()
    assert found is not None
    return found


def test_a_change_is_reported_once_to_every_follower(watcher: FileWatcher, tmp_path: Path) -> None:
    file, first, second = tmp_path / "file", threading.Semaphore(0), threading.Semaphore(0)
    file.touch()
    watcher.watch_once(str(file), first.release)
    watcher.watch_once(str(file), second.release)
    for line in ("one\n", "two\n"):
        with file.open("a") as out:
            out.write(line)
    assert first.acquire(timeout=5)
    assert second.acquire(timeout=5)
    again = threading.Semaphore(0)
    watcher.watch_once(str(file), again.release)
    file.rename(tmp_path / "other")
    assert again.acquire(timeout=5)
    assert not first.acquire(blocking=False)


def test_a_new_file_is_reported_as_a_change(watcher: FileWatcher, tmp_path: Path) -> None:
    appeared = threading.Semaphore(0)
    watcher.watch_once(str(tmp_path / "later"), appeared.release)
    assert not appeared.acquire(blocking=False)
    (tmp_path / "later").touch()
    assert appeared.acquire(timeout=5)


def test_a_change_that_the_system_does_not_report_is_detected(watcher: FileWatcher, tmp_path: Path) -> None:
    """Stands for a network file system that another host writes to: the name refers to another file, unreported."""
    changed = threading.Semaphore(0)
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("22")
    link = tmp_path / "link"
    link.symlink_to("one")
    watcher.watch_once(str(link), changed.release)
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").rename(link)
    assert changed.acquire(timeout=10)


def test_a_removed_follower_gets_no_reports(watcher: FileWatcher, tmp_path: Path) -> None:
    file, gone, there = tmp_path / "file", threading.Semaphore(0), threading.Semaphore(0)
    file.touch()
    follower = watcher.watch_once(str(file), gone.release)
    watcher.watch_once(str(file), there.release)
    assert watcher.cancel(follower)
    assert not watcher.cancel(follower)
    file.write_text("x")
    assert there.acquire(timeout=5)
    assert not gone.acquire(blocking=False)
