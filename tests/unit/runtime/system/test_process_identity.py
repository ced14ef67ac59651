"""The identity of a process, which shows whether the process has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.system.process_identity import is_gone, is_here, own_identity


def test_only_processes_of_this_machine_are_known_to_have_ended() -> None:
    own = own_identity()
    assert is_here(own)
    assert not is_gone(own)
    assert not is_gone({})
    assert not is_gone({**own, "machine": "elsewhere", "pid": 2**22 + 1})
    assert is_gone({**own, "pid": 2**22 + 1})
    if Path("/proc/self/stat").exists():
        assert is_gone({**own, "started": "1"})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the name of a process is set by prctl()")
def test_the_name_of_a_process_may_be_any_bytes() -> None:
    """As one of letters that the kernel has cut: the id of a worker that has ended may be that of any process."""
    name = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'caf\\xc3'); print(flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", name], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert is_gone({**own_identity(), "pid": process.pid, "started": "1"})
