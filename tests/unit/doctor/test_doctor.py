"""The doctor's lines: what is there, what is missing, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.doctor import machine, terminal
from runtime.doctor.finding import Level


def run(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-m", "runtime", "doctor"]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, timeout=60, check=False)


def test_this_machine_is_well() -> None:
    done = run()
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[1] for line in lines[:5]] == ["Python", "console", "runtime", "Java", "Spark"]
    assert all(line.startswith("ok ") for line in lines[:5])
    assert "scripts" not in done.stdout
    assert lines[-1].startswith("note  terminal   none here: ")


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    done = run(JAVA_HOME=str(tmp_path))
    (line,) = (line for line in done.stdout.splitlines() if " Java " in line)
    assert done.returncode == 1
    assert line.startswith(f"BAD   Java       JAVA_HOME is {tmp_path}, but there is no ")
    assert "install Java 17" in line


def test_without_a_packages_extra_the_console_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine._version
    monkeypatch.setattr(machine, "_version", lambda package: None if package in machine.RUNTIME else real(package))
    found = list(machine.findings())
    assert [f.level for f in found] == [Level.OK, Level.OK, Level.NOTE]
    assert "pip install 'headrace[runtime]'" in str(found[-1])


def test_a_part_of_the_extra_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine._version
    monkeypatch.setattr(machine, "_version", lambda package: None if package == "uvicorn" else real(package))
    found = [f for f in machine.findings() if f.what == "runtime"]
    assert [str(f) for f in found] == ["BAD   runtime    without uvicorn: pip install 'headrace[runtime]'"]


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert machine._folder(tmp_path / "new" / "deeper").level is Level.OK
    assert machine._folder(tmp_path / "file" / "x").level is not Level.OK


@pytest.mark.parametrize(
    ("env", "level", "said"),
    [
        ({"TERM": "xterm-256color"}, Level.OK, "OSC 52"),
        ({"TERM": "screen.xterm"}, Level.NOTE, "GNU screen"),
        ({"TERM": "xterm", "TERM_PROGRAM": "Apple_Terminal"}, Level.NOTE, "Terminal.app"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6003"}, Level.NOTE, "VTE 6003"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7602"}, Level.OK, "OSC 52"),
    ],
)
def test_clipboards(env: dict[str, str], level: Level, said: str) -> None:
    found = terminal._clipboard(env)
    assert (found.level, said in str(found)) == (level, True)
