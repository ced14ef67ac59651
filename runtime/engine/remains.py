"""What is left of a slot that is given up: a process that may hang, and the stack that it wrote at its end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket

from runtime.engine.lease import stack_file
from runtime.engine.roster import Link


def kill(link: Link) -> None:
    """For a process that may be stopped or hang: others end by themselves when their connection closes."""
    if link.host == socket.gethostname():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(link.pid, signal.SIGKILL)


def last_stack(folder: str, link: Link) -> str:
    """What the slot was doing when its lease ended, if that is how it ended; else an empty text."""
    try:
        file = stack_file(folder, link.slot, link.pid)
        stack = file.read_text(errors="replace")
        file.unlink()
    except OSError:
        return ""
    return stack
