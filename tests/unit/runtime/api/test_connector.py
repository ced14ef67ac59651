"""Division of work among tasks: the defaults, and groups as Java's ConnectorUtils makes them."""

from __future__ import annotations

import pytest

from runtime.api import SinkConnector, SourceConnector, group_partitions


@pytest.mark.parametrize(("kind", "tasks"), [(SourceConnector, 1), (SinkConnector, 3)])
def test_by_default_tasks_have_the_configuration_of_the_connector(
    kind: type[SourceConnector | SinkConnector], tasks: int
) -> None:
    connector, config = kind(), {"file": "x"}
    connector.start(config)
    config.clear()
    assert connector.task_configs(3) == [{"file": "x"}] * tasks


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
