"""Division of work among tasks, as Java's ConnectorUtils does it."""

from __future__ import annotations

import pytest

from runtime.api import group_partitions


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (1, [[1, 2, 3, 4, 5]]),
        (2, [[1, 2, 3], [4, 5]]),
        (3, [[1, 2], [3, 4], [5]]),
        (5, [[1], [2], [3], [4], [5]]),
        (7, [[1], [2], [3], [4], [5], [], []]),
    ],
)
def test_groups_are_consecutive_and_the_first_ones_are_larger(groups: int, expected: list[list[int]]) -> None:
    assert group_partitions([1, 2, 3, 4, 5], groups) == expected


@pytest.mark.parametrize("groups", [0, -1])
def test_there_must_be_a_group(groups: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        group_partitions([1], groups)
