"""A signal that reaches a worker before it has handlers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def test_an_interrupt_during_the_start_prints_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    os.mkfifo(file)
    command = [sys.executable, "-P", "-m", "runtime", "worker", "distributed", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as worker, file.open("wb"):  # when the worker reads it
        worker.send_signal(signal.SIGINT)
        _, printed = worker.communicate(timeout=30)
    assert (worker.returncode, printed) == (130, b"")
