"""Suspension: ^Z stops the program, and `fg` restores the whole screen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.console.terminal import Terminal
from tests.support.waiting import wait_until


def _state(pid: int) -> str:
    """The state of the process in /proc; `T` if it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_the_screen_is_restored_after_suspension() -> None:
    with Terminal("http://127.0.0.1:1") as terminal:
        terminal.sees("headrace", "unreachable", "? help")
        terminal.press("ctrl+z")
        pid = terminal.process.pid
        assert pid is not None
        wait_until(lambda: _state(pid) == "T", 20, "the program to stop")
        terminal.pump(0.5)
        terminal.screen.reset()  # output of the shell
        os.kill(pid, signal.SIGCONT)
        terminal.sees("headrace", "NAME", "unreachable", "? help")
        terminal.press("?")
        terminal.sees("keys that work here")
        terminal.escape()
        terminal.press("q")
        assert terminal.exit_code() == 0
