"""The lease of a slot on another machine: the slot counts from its question, and its process ends with the lease."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.engine.engine_rig import ROOT

TTL = 1.0

SLOT = """
import io, os, sys, threading, time
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.slot.remote import LeaseRenewal
from runtime.system import frames

folder, behaviour, answers = sys.argv[1], sys.argv[2], int(sys.argv[3])

class Worker:
    '''Grants the lease a number of times, each time after a delay.'''
    def __init__(self): self.stream, self.left = io.BytesIO(), answers
    def settimeout(self, seconds): pass
    def close(self): pass
    def sendall(self, data):
        if not self.left:
            raise TimeoutError("no answer")
        self.left -= 1
        time.sleep(0.1)
        self.stream = io.BytesIO(frames.encode({"op": "lease", "seconds": TTL}))

TTL = 1.0
worker, cell = Worker(), LeaseCell.create(folder, 0, os.getpid())
with open(folder + "/stacks", "w") as stacks:
    asked = time.monotonic()
    LeaseRenewal(lambda: worker, cell, TTL, stacks).start()
    print(cell.deadline - asked, flush=True)
    if behaviour == "hog":  # holds the interpreter
        import re
        re.match(r"(x+x+)+y", "x" * 40)
    while True:
        with open(folder + "/written", "a") as written:
            written.write(f"{time.monotonic()}\\n")
        time.sleep(0.01)
"""


def slot(folder: Path, behaviour: str = "work", answers: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOT, str(folder), behaviour, str(answers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def granted(process: subprocess.Popen[str]) -> float:
    """Seconds from the question to the deadline."""
    assert process.stdout
    return float(json.loads(process.stdout.readline()))


def test_the_lease_counts_from_the_question(tmp_path: Path) -> None:
    process = slot(tmp_path)
    assert granted(process) == pytest.approx(TTL, abs=0.05)  # although the answer took 0.1 s
    process.kill()
    process.wait()


@pytest.mark.parametrize("behaviour", ["work", "hog"])
def test_the_process_ends_with_its_lease_and_leaves_its_stacks(tmp_path: Path, behaviour: str) -> None:
    process = slot(tmp_path, behaviour, answers=3 if behaviour == "work" else 1)
    granted(process)
    assert process.wait(30) != 0
    assert "most recent call first" in (tmp_path / "stacks").read_text()


def test_a_stopped_process_does_nothing_after_its_lease(tmp_path: Path) -> None:
    process = slot(tmp_path)
    granted(process)
    written = tmp_path / "written"
    deadline = time.monotonic() + 10
    while not (written.exists() and written.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2 * TTL)
    before = written.read_text()
    process.send_signal(signal.SIGCONT)
    assert process.wait(30) != 0
    assert written.read_text() == before
