"""The shortest sequence that still shows a difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tests.soak.sequences.operation import Operation


def shrink(
    operations: Sequence[Operation], differs: Callable[[Sequence[Operation]], bool], seconds: float
) -> list[Operation]:
    """Drops operations, many at first and single ones at last, while the sequence differs and the time is not over."""
    until = time.monotonic() + seconds
    kept, size = list(operations), max(len(operations) // 2, 1)
    while True:
        start = len(kept) - 1 - size  # the last operation shows the difference
        while start > -size and time.monotonic() < until:
            shorter = kept[: max(start, 0)] + kept[max(start + size, 0) :]
            if len(shorter) < len(kept) and differs(shorter):
                kept = shorter
            start -= size
        if size == 1 or time.monotonic() > until:
            return kept
        size //= 2
