"""Processes by pid and start time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.embedded.processes.process import ProcessRef, spawn
from runtime.system.processes import start_time
from tests.support.waiting import wait_until


def test_the_start_time_is_constant_and_none_after_the_end() -> None:
    assert start_time(os.getpid()) == start_time(os.getpid())
    with subprocess.Popen(["sleep", "60"]) as child:
        assert ProcessRef.of(child.pid).alive()
        child.kill()
        child.wait()
        assert start_time(child.pid) is None


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        ref = ProcessRef.of(child.pid)
        child.kill()
        # Nothing has waited for the process: it is a zombie, and must not count as alive.
        wait_until(lambda: not ref.alive(), 5)


def test_a_reference_to_a_missing_process_is_refused() -> None:
    with pytest.raises(ProcessLookupError):
        ProcessRef.of(2**22 + 1)


def test_end_kills_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    log = tmp_path / "log"
    child = spawn([sys.executable, "-c", deaf], log)
    wait_until(lambda: "deaf" in log.read_text())
    ref = ProcessRef.of(child.pid)
    ref.end(graceful=0.1)
    assert child.wait(30) == -signal.SIGKILL


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux notifies children of their parent's death")
def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import pathlib, time; from runtime.embedded.processes.process import spawn\n"
        f"print(spawn(['sleep', '60'], pathlib.Path({str(tmp_path / 'log')!r})).pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = ProcessRef.of(int(parent.stdout.readline()))
        parent.kill()
    assert child.wait_gone(5)
