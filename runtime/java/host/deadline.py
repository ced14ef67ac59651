"""The time limit of calls into a task host JVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from runtime.system.scheduling import ProcessTree, RunLimit

deadline: ContextVar[RunLimit | None] = ContextVar("deadline", default=None)
"""The limit within which all calls that are made in this context must have returned; None: no limit. A call that has
not returned is interrupted, and its object is lost."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Limits the calls of this block, without the time for which this process or its JVM waited for a processor. None:
    not limited, although the block around it is."""
    token = deadline.set(None if seconds is None else RunLimit(seconds, ProcessTree(os.getpid())))
    try:
        yield
    finally:
        deadline.reset(token)
