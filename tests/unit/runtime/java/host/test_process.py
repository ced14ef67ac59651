"""The process of a task host JVM."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from runtime.java.errors import HostLostError
from runtime.java.host.process import HostProcess, JvmSettings


@pytest.mark.parametrize(("heap", "first", "young"), [(16, 16, 5), (24, 24, 8), (256, 24, 12)])
def test_the_initial_heap_is_not_larger_than_the_largest(heap: int, first: int, young: int) -> None:
    """With a larger one, a JVM does not start."""
    command = JvmSettings(Path("java"), [], heap).command()
    assert {f"-Xmx{heap}m", f"-Xms{first}m", f"-XX:NewSize={young}m"} <= {*command}


def test_the_temporary_folder_is_that_of_this_process_unless_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java ignores TMPDIR; of several values it takes the last."""
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    command = JvmSettings(Path("java"), [], options=["-Djava.io.tmpdir=/own"]).command()
    assert [word for word in command if "tmpdir" in word] == [
        "-Djava.io.tmpdir=/elsewhere",
        "-Djava.io.tmpdir=/own",
    ]


def test_a_line_of_the_output_without_end_is_logged_in_parts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho short\nhead -c 100500 /dev/zero | tr '\\0' x\n")
    java.chmod(0o755)
    caplog.set_level("INFO", "runtime.java.host.process")
    process = HostProcess(JvmSettings(java, []))
    assert process.ended.wait(30)
    lines = [record.message for record in caplog.records]
    assert lines[0] == "short"
    assert sum(map(len, lines[1:])) == 100_500
    assert max(map(len, lines)) == 1000
    assert len(process.end.reason) < 21_000


@pytest.mark.parametrize("thread", ["java-host", "java-output"])
def test_a_jvm_for_which_no_thread_can_be_started_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thread: str
) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec sleep 600\n")
    java.chmod(0o755)
    start = threading.Thread.start

    def refused(self: threading.Thread) -> None:
        if self.name == thread:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(HostLostError, match="could not be started: can't start new thread"):
        HostProcess(JvmSettings(java, []))


def test_a_jvm_that_cannot_be_prepared_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OSError

    monkeypatch.setattr("runtime.java.host.process.die_with_parent", lambda _: fails)
    with pytest.raises(HostLostError, match="could not be started"):
        HostProcess(JvmSettings(tmp_path, []))
