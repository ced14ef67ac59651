"""Division of a connector's work among its tasks (Java: ConnectorUtils)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def group_partitions(elements: Sequence[T], groups: int) -> list[list[T]]:
    """The elements in `groups` consecutive groups, whose sizes differ by at most one; the larger groups come first. If
    there are fewer elements than groups, the last groups are empty: for task_configs(), pass
    `min(len(elements), max_tasks)`. ValueError if `groups` is less than one."""
    if groups < 1:
        raise ValueError("The number of groups must be positive.")
    size, larger = divmod(len(elements), groups)
    starts = [number * size + min(number, larger) for number in range(groups + 1)]
    return [list(elements[start:end]) for start, end in pairwise(starts)]
