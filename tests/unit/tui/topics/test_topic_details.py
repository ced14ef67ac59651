"""Growth and lag of a topic from given offsets."""

from __future__ import annotations

from tui.topics.topic_details import EndsSample, PartitionReplicas, ReadingGroup, growth


def test_growth_of_each_partition() -> None:
    first = EndsSample(100.0, {0: 10, 1: 500, 2: 7})
    last = EndsSample(104.0, {0: 30, 1: 3, 2: 7, 3: 90})
    assert growth(first, last) == {0: 5.0, 2: 0.0}, "without 1, created again meanwhile, and 3, which is new"
    assert growth(first, first) == {}


def test_lag_counts_partitions_with_offsets_only() -> None:
    latest = {0: 100, 1: 50, 2: 1000}
    assert ReadingGroup("a", "Stable", {0: 90, 1: 60}).lag(latest) == 10, "an offset beyond the end is no lag"
    assert ReadingGroup("a", "Empty", {}).lag(latest) is None
    assert ReadingGroup("a", "Empty", {7: 1}).lag(latest) is None, "a partition that does not exist any more"


def test_partitions_that_are_not_in_sync() -> None:
    assert not PartitionReplicas(0, 1, (1, 2), (2, 1)).is_degraded
    assert PartitionReplicas(0, 1, (1, 2), (1,)).is_degraded
    assert PartitionReplicas(0, -1, (1,), (1,)).is_degraded
