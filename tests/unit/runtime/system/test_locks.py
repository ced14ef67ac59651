"""Locks between processes: a wait has a limit and names the holder, and a lock ends with its holder."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.system.locks import LockHeldError, exclusive
from tests.support.waiting import wait_until

HOLDER = """
import sys
from pathlib import Path
from runtime.system.locks import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _holder(file: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_wait_is_limited_and_the_error_names_the_holder(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with _holder(file) as holder:
        message = f"process {holder.pid} has held the lock {file}"
        with pytest.raises(LockHeldError, match=message), exclusive(file, limit=0.2):
            pass


def test_a_waiting_process_names_the_holder_and_continues_when_it_dies(tmp_path: Path) -> None:
    file, progress, entered = tmp_path / "lock", io.StringIO(), threading.Event()

    def enter() -> None:
        with exclusive(file, progress):
            entered.set()

    with _holder(file) as holder:
        threading.Thread(target=enter, daemon=True).start()
        wait_until(lambda: progress.getvalue() == f"waiting for process {holder.pid}, which holds {file}\n")
        holder.kill()
        assert entered.wait(10)
