"""Finding Java: errors if it is missing, too old or does not run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime.java.jvm.errors import JavaError
from runtime.java.jvm.java import MINIMUM, Java, find_java, major_version
from runtime.system.processes import folder_of_children


@pytest.mark.parametrize(
    ("version", "major"),
    [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("1.8.0_412", 8), ("9.0.4", 9), ("11.0.2", 11), ("nonsense", 0)],
)
def test_major_version(version: str, major: int) -> None:
    assert major_version(version) == major


@pytest.mark.parametrize(
    ("version", "trims"),
    [("17.0.8", False), ("17.0.9", True), ("17.0.15+6", True), ("19.0.2", False), ("21", False), ("21.0.1", True),
     ("22", True), ("25-ea", True)],
)  # fmt: skip
def test_freed_memory_is_given_back_by_versions_that_can(version: str, trims: bool) -> None:
    """Others would not start with the option."""
    assert bool(Java(Path("java"), major_version(version), version).trim_options()) == trims


def test_this_machines_java_accepts_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    java = find_java()
    subprocess.run([java.program, *java.trim_options(), "-version"], check=True, capture_output=True, timeout=60)


def test_this_machines_java_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java().major >= MINIMUM


def test_java_is_found_from_a_folder_that_has_been_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Such as that of an earlier release, in which the worker was started. Java does not start there."""
    folder = tmp_path / "release"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java().major >= MINIMUM
    assert folder_of_children() == "/"
    monkeypatch.chdir(tmp_path)
    assert folder_of_children() is None


def test_java_home_has_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _fake_java(tmp_path, 'openjdk version "99.0.1" 2040-01-01')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = find_java()
    assert (java.program, java.major) == (program, 99)


def test_a_java_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path, 'openjdk version "11.0.22" 2024-01-16')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    message = _refusal()
    assert "Java 11.0.22" in message and "too old: install Java 17 or newer" in message


def test_a_java_home_without_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}" in _refusal()


def test_a_missing_java_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _refusal().startswith("Java was not found: install Java 17 or newer")


def test_a_java_that_does_not_run_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake_java(tmp_path, "The operation couldn't be completed. Unable to locate a Java Runtime.", code=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "does not run (The operation couldn't be completed. Unable to locate a Java Runtime.): install" in _refusal()


def _refusal() -> str:
    with pytest.raises(JavaError) as refused:
        find_java()
    message = str(refused.value)
    assert "\n" not in message
    return message


def _fake_java(home: Path, output: str, code: int = 0) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat >&2 <<'EOF'\n{output}\nEOF\nexit {code}\n")
    program.chmod(0o755)
    return program
