"""The runtime's commands as processes, with standard streams that are closed or full."""

from __future__ import annotations

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
