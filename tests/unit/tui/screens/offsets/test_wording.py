"""Texts about changes of offsets."""

from __future__ import annotations

from tui.offsets.changes import ChangeKind, Effect, OffsetChange
from tui.screens.offsets import wording


def test_the_total_is_the_sum_over_all_changes() -> None:
    assert Effect(1, 0).total == "1 record read again, 0 skipped"
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    changes = [
        OffsetChange(ChangeKind.ALTER, partition, {"kafka_offset": 1}, {"kafka_offset": 0}, Effect(one, 0))
        for one in (1, 0)
    ]
    assert wording._total(changes) == ": 1 record read again, 0 skipped"
