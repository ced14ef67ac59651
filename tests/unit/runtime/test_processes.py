"""The runtime's commands as processes: closed or full streams, the C locale, and a signal during the start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


def run(command: str, streams: str) -> subprocess.CompletedProcess[str]:
    """`headrace COMMAND` in a shell that redirects its streams."""
    line = f'"{sys.executable}" -P -m tui.main {command} {streams}'
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["doctor", "plugin list"])
@pytest.mark.parametrize(
    ("streams", "reason"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_an_output_that_takes_nothing_is_one_line(command: str, streams: str, reason: str) -> None:
    done = run(command, streams)
    assert (done.returncode, done.stderr) == (1, f"headrace: standard output: {reason}\n")


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    done = run("doctor", "| head -1; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (141, "", 1)


def test_a_worker_starts_without_any_standard_stream(tmp_path: Path) -> None:
    """Its sockets would otherwise take the descriptors 0 to 2."""
    (tmp_path / "worker.properties").touch()
    done = run(f"worker distributed {tmp_path}/worker.properties", "<&- >&- 2>&-")
    assert done.returncode == 2, "the file has no bootstrap.servers"


CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def test_files_beyond_ascii_without_utf8_mode(tmp_path: Path) -> None:
    offsets, file = tmp_path / "dä.offsets", tmp_path / "worker.properties"
    offsets.touch()
    file.write_text(
        f"bootstrap.servers=127.0.0.1:1\nlisteners=http://127.0.0.1:1\nkey.converter={CONVERTER}\nvalue.converter={CONVERTER}\n"
        f"offset.storage.file.filename={offsets}\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "runtime", "offsets", f"--config={file}", "--export"]
    env = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "{}", "")


def test_an_interrupt_during_the_start_prints_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    os.mkfifo(file)
    command = [sys.executable, "-P", "-m", "runtime", "worker", "distributed", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as worker, file.open("wb"):  # when the worker reads it
        worker.send_signal(signal.SIGINT)
        _, printed = worker.communicate(timeout=30)
    assert (worker.returncode, printed) == (130, b"")
