"""The state folder: writing and reading, and processes that have ended."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from runtime.embedded.processes.process import ProcessRef
from runtime.embedded.state import ClusterPart, ClusterPhase, ClusterState, StateFolder


def test_state_is_read_as_written(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "new")
    assert folder.read() is None
    state = ClusterState(_me(), ClusterPhase.READY, "http://h:1", "h:2", "id", {"broker": ClusterPart(_me(), "h:2")})
    folder.write(state)
    assert folder.read() == state
    assert state.running()


def test_incomplete_or_foreign_state_is_ignored(tmp_path: Path) -> None:
    for content in ("", "{", "[]", "{}", '{"supervisor": {"pid": 1}}', "null"):
        (tmp_path / "state.json").write_text(content)
        assert StateFolder(tmp_path).read() is None


def test_a_pid_used_again_is_not_ours(tmp_path: Path) -> None:
    before = ProcessRef(os.getpid(), "some other time")
    assert not before.alive()
    assert not ClusterState(before, ClusterPhase.READY).running()


def test_only_living_processes_are_attached(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    with subprocess.Popen(["sleep", "60"]) as other:
        folder.attach(_me())
        folder.attach(ProcessRef.of(other.pid))
        assert {process.pid for process in folder.attached()} == {os.getpid(), other.pid}
        other.kill()
    assert folder.attached() == [_me()]
    assert [file.name for file in (tmp_path / "attached").iterdir()] == [str(os.getpid())]
    folder.detach(os.getpid())
    assert folder.attached() == []


def test_forget_removes_attachments(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.write(ClusterState(_me(), ClusterPhase.READY))
    folder.attach(_me())
    folder.keep(True)
    folder.forget()
    assert (folder.read(), folder.kept(), folder.attached()) == (None, False, [])


def _me() -> ProcessRef:
    return ProcessRef.of(os.getpid())
