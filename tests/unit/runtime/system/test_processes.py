"""Processes read from /proc."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from runtime.system.processes import is_below

NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"caf\\xc3", 0, 0, 0)  # PR_SET_NAME
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="process names require Linux")
def test_a_process_name_may_be_arbitrary_bytes() -> None:
    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout and child.stdout.readline() == b"ready\n"
        assert is_below(child.pid, os.getpid())
        child.kill()
