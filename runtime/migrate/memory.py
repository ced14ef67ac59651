"""The memory that a worker will need, from the measurements in docs/scaling.md and docs/ops/README.md."""

from __future__ import annotations

WORKER_MB = 311
"""A worker that has run a source and a sink, with one slot (PSS)."""

SLOT_MB = 15
"""Each further slot."""

JVM_MB = 100
"""The JVM of Java plugins in a slot, beside its heap."""


def expected(slots: int, java: bool, heap_mb: int) -> int:
    """The memory of all processes of a worker in MB, at most; with `java` each slot has a JVM."""
    return WORKER_MB + (slots - 1) * SLOT_MB + (slots * (JVM_MB + heap_mb) if java else 0)
