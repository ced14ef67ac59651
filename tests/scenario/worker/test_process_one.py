"""SIGTERM for a process that starts as process 1 of a container, for which the kernel ignores signals without a
handler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable]


@pytest.mark.parametrize(
    ("module", "words", "code"),
    [
        ("tui.main", ["worker", "distributed"], 0),
        ("runtime", ["worker", "distributed"], 0),
        ("tui.main", ["http://127.0.0.1:1", "--script"], 128 + signal.SIGTERM),
    ],
)
def test_sigterm_ends_a_start(module: str, words: list[str], code: int, tmp_path: Path) -> None:
    """The file that is read first is a pipe, at which the start waits."""
    file = tmp_path / "file"
    os.mkfifo(file)
    command = (
        f"from {module} import entry; entry()" if module == "tui.main" else "import runtime.__main__ as m; m.entry()"
    )
    with subprocess.Popen([*_CONTAINER, "-c", command, *words, str(file)]) as unshare:
        try:
            with file.open("w"):  # returns when the other end is open
                (pid,) = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text().split()
                os.kill(int(pid), signal.SIGTERM)
                assert unshare.wait(10) == code
        finally:
            unshare.kill()


def test_sigterm_waits_while_the_console_starts_the_worker() -> None:
    sent_before = (
        "import os, signal; from tui import embedded; execv = os.execv;"
        "os.execv = lambda *words: (os.kill(os.getpid(), signal.SIGTERM), execv(*words));"
        "embedded.exec_runtime(['worker', 'distributed', 'missing.properties'])"
    )
    assert subprocess.run([sys.executable, "-c", sent_before], check=False, timeout=20).returncode == 0
