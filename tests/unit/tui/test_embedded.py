"""Attaching to the embedded cluster: a slow start is announced."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui import embedded
from tui.errors import HeadraceError


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in place of the Python interpreter."""
    program = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def put(program: Path, text: str) -> None:
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


ANSWER = 'echo \'{"url": "http://127.0.0.1:1", "bootstrap": "b:1"}\''


def test_a_slow_start_is_announced(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(runtime, f"sleep 0.6; {ANSWER}")
    assert embedded.attach(quiet_start=0.2) == embedded.Embedded("http://127.0.0.1:1", "b:1")
    assert capsys.readouterr().err.startswith("starting the embedded cluster")


def test_a_running_cluster_is_not_announced(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(runtime, ANSWER)
    embedded.attach(quiet_start=0.5)
    assert capsys.readouterr().err == ""
    put(runtime, "exit 3")
    with pytest.raises(HeadraceError, match="failed"):
        embedded.attach()


def test_the_runtime_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """Another user may have put the files there, such as in /tmp."""
    (tmp_path / "runtime").mkdir()
    for stranger in ("runtime/__init__.py", "runtime/__main__.py", "random.py"):
        (tmp_path / stranger).write_text("print('the stranger runs')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tui.main", "embedded", "status"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
