"""Limits of file descriptors."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, resource
from runtime.engine.protocol.descriptors import NoRoomError, check_room, raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
raise_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
check_room()
taken = [os.dup(0) for _ in range(230)]
try:
    check_room()
except NoRoomError as error:
    print(error)
"""


def test_the_limit_is_raised_and_a_shortage_is_reported() -> None:
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    first, second = output.splitlines()
    assert first == "(256, 256)"
    assert "of at most 256 file descriptors open" in second
