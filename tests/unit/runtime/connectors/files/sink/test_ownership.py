"""A writer that is frozen while its successor writes the same files publishes nothing when it wakes up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from runtime.api.errors import ConnectError
from runtime.connectors.files.folder_store import FileError, FolderStore
from runtime.connectors.files.location import FileLocation
from runtime.connectors.files.sink.ownership import PartitionOwner
from tests.support.tasks.files_sink import TP, SinkDriver, files, records

NAME = "orders/orders+0+000000000000.json"
ROWS = [{"n": n, "text": f"text {n}"} for n in range(100)]
CONFIG = {"format": "parquet", "flush.size": str(len(ROWS))}

FROZEN = """
import signal, sys, threading
from pathlib import Path
from tests.support.tasks.files_sink import SinkDriver, records
from tests.support.tasks.task_contexts import TaskSinkContext
from tests.unit.runtime.connectors.files.sink.test_ownership import CONFIG, ROWS
class Freezing(TaskSinkContext):
    attempts = 0
    def check_ownership(self):
        self.attempts += 1
        if self.attempts == 1:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # the whole process, before the call returns
        else:
            raise RuntimeError("the slot's lease has expired")
sink = SinkDriver(Path(sys.argv[1]), CONFIG, context=Freezing())
sink.put(records(ROWS))
sink.commit_until(len(ROWS))
"""


class Lost(Exception):
    """The slot has lost its lease."""


def owner(folder: Path, check: Callable[[], None] = lambda: None) -> PartitionOwner:
    return PartitionOwner(FolderStore(FileLocation(str(folder), "local", str(folder), {})), TP, check)


def text(content: bytes, midway: Callable[[], object] = lambda: None) -> Callable[[BinaryIO], None]:
    def fill(out: BinaryIO) -> None:
        out.write(content[:3])
        out.flush()
        midway()
        out.write(content[3:])

    return fill


def test_a_frozen_writer_does_not_replace_the_file_of_its_successor(tmp_path: Path) -> None:
    def succeed() -> None:
        owner(tmp_path).write(NAME, text(b"successor"))

    with pytest.raises(FileError, match="Cannot write orders/orders"):
        owner(tmp_path).write(NAME, text(b"frozen, and longer", succeed))
    assert [(file.name, file.read_bytes()) for file in (tmp_path / "orders").iterdir()] == [
        ("orders+0+000000000000.json", b"successor")
    ]


def test_a_writer_without_a_lease_publishes_nothing(tmp_path: Path) -> None:
    def check() -> None:
        raise Lost

    with pytest.raises(Lost):
        owner(tmp_path, check).write(NAME, text(b"late"))
    released = owner(tmp_path)
    released.release()
    with pytest.raises(ConnectError, match="orders-0 was assigned to another task"):
        released.write(NAME, text(b"late"))
    assert list((tmp_path / "orders").iterdir()) == []


def test_files_of_the_same_owner_and_of_other_partitions_stay(tmp_path: Path) -> None:
    both = owner(tmp_path)
    other = tmp_path / "orders/.orders+10+000000000000.json.0123456789ab-0.part"
    left = tmp_path / "orders/.orders+0+000000000007.json.part"

    def write_another() -> None:
        other.touch()
        left.touch()
        both.write(NAME.replace("0.json", "5.json"), text(b"five"))

    both.write(NAME, text(b"zero", write_another))
    assert len(list((tmp_path / "orders").glob("orders+0+*"))) == 2
    owner(tmp_path).write(NAME, text(b"zero"))
    assert other.exists() and not left.exists()


def test_a_process_that_was_frozen_before_it_published_a_file_leaves_that_of_its_successor(tmp_path: Path) -> None:
    frozen = subprocess.Popen(
        [sys.executable, "-c", FROZEN, str(tmp_path)], cwd=Path(__file__).parents[6], stderr=subprocess.DEVNULL
    )
    try:
        _, status = os.waitpid(frozen.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        sink = SinkDriver(tmp_path, CONFIG)
        sink.put(records(ROWS))
        sink.commit_until(len(ROWS))
        sink.stop()
        (published,) = (tmp_path / "orders").iterdir()
        before = published.stat()
        os.kill(frozen.pid, signal.SIGCONT)
        assert frozen.wait(60) != 0
    finally:
        frozen.kill()
        frozen.wait()
    assert list(files(tmp_path).values()) == [ROWS]
    (remaining,) = (tmp_path / "orders").iterdir()
    after = remaining.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
