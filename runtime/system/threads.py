"""Threads that the system may refuse to start: at the limit of the control group (pids.max), or of the user."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_apart(work: Callable[[], None], name: str) -> None:
    """Run this in a thread of its own, so that the caller does not wait. If none can be started the caller does it
    itself: a call may then wait for others, but the process, and all that runs in it, continues."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:
        work()
