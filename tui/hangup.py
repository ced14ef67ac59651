"""The end of the terminal: the program ends with it.

Usually the kernel sends SIGHUP. Not if the leader of the session waits for its children, as `make run` does when it is
the command of a tmux pane: then the program would run on without a terminal, for ever.
"""

from __future__ import annotations

import os
import select
import signal
import threading


def end_with_terminal() -> None:
    """Sends SIGHUP to this process when the terminal of standard input has been closed. Main thread only."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, but a screen is of no use without a terminal
    threading.Thread(target=_wait, name="terminal-end", daemon=True).start()


def _wait() -> None:
    poll = select.poll()
    poll.register(0, 0)  # a hangup is reported even so
    if any(event & select.POLLHUP for _, event in poll.poll()):
        os.kill(os.getpid(), signal.SIGHUP)
