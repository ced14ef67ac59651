"""The time limit of calls into a task host JVM."""

from __future__ import annotations

from contextvars import ContextVar

deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When calls that are made in this context must have returned, by time.monotonic(); None: no limit. A call that has not
returned is interrupted, and its object is lost."""
