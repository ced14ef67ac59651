"""The first process of a container."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

_CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
_PROGRAM = """
import os, signal, subprocess, sys, time
from pathlib import Path
from runtime.system.first_process import leave_first_process

def ended():
    states = [stat.read_text().rpartition(')')[2].split()[0] for stat in Path('/proc').glob('[0-9]*/stat')]
    return states.count('Z')

leave_first_process()
"""
_ORPHANS = """
for _ in range(3):
    subprocess.run(['sh', '-c', 'sleep 0 & exit'])
deadline = time.monotonic() + 5
while ended() or len([*Path('/proc').glob('[0-9]*')]) > 2:
    assert time.monotonic() < deadline
    time.sleep(0.01)
print(os.getppid())
sys.exit(3)
"""
_SIGNAL = """
received = []
signal.signal(signal.SIGTERM, lambda *_: received.append(1))
os.kill(1, signal.SIGTERM)
deadline = time.monotonic() + 5
while not received and time.monotonic() < deadline:
    time.sleep(0.01)
print(len(received))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("part", "printed", "code"), [(_ORPHANS, "1", 3), (_SIGNAL, "1", 128 + signal.SIGKILL)], ids=["orphans", "signal"]
)
def test_it_collects_orphans_and_forwards_signals(part: str, printed: str, code: int) -> None:
    command = [*_CONTAINER, sys.executable, "-c", _PROGRAM + part]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout.strip(), done.returncode, done.stderr) == (printed, code, "")


def test_another_process_continues() -> None:
    command = [sys.executable, "-c", f"{_PROGRAM}\nprint(os.getppid())"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == str(os.getpid())
