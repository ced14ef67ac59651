"""The identity of a process, which shows whether the process has ended."""

from __future__ import annotations

from pathlib import Path

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
