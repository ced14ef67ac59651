"""The end of the screen from outside: SIGTERM, SIGHUP, or the end of the terminal.

Usually the kernel sends SIGHUP when the terminal is closed. Not if the leader of the session waits for its children, as
`make run` does when it is the command of a tmux pane: then the program would run on without a terminal, for ever.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def end_with_terminal() -> None:
    """Ends this process on SIGTERM and SIGHUP, and sends SIGHUP when the terminal of standard input has been closed.
    Main thread only."""
    # The default action is not enough: nohup has SIGHUP ignored, and the kernel ignores both for process 1 of a
    # container.
    for number in _SIGNALS:
        signal.signal(number, _exit)
    threading.Thread(target=_wait, name="terminal-end", daemon=True).start()


def on_signal(loop: AbstractEventLoop, end: Callable[[int], None]) -> None:
    """While the loop runs, a signal calls `end` with the exit code, so that the terminal is restored; the same signal
    again, or the end of the terminal, ends the process at once."""

    def ended(number: int) -> None:
        loop.remove_signal_handler(number)
        if _is_closed(0):
            os.kill(os.getpid(), number)
        end(128 + number)

    for number in _SIGNALS:
        loop.add_signal_handler(number, ended, number)


def _exit(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _wait() -> None:
    if _is_closed(None):
        os.kill(os.getpid(), signal.SIGHUP)


def _is_closed(timeout: int | None) -> bool:
    """Whether the terminal is closed within this time in milliseconds; None waits for it."""
    poll = select.poll()
    poll.register(0, 0)  # a hangup is reported even so
    return any(event & select.POLLHUP for _, event in poll.poll(timeout))
