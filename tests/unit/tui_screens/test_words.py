"""Texts of the screen: numbers with nouns, places of records, roles of topics."""

from __future__ import annotations

from tui.metrics.rate_history import RateHistory
from tui.metrics.worker_metrics import WorkerMetrics
from tui.offsets.changes import ChangeKind, Effect, OffsetChange
from tui.screens.clusters.worker_inside import described
from tui.screens.connector import failed_records
from tui.screens.offsets import wording


def test_one_record_is_one_record() -> None:
    assert Effect(1, 0).total == "1 record read again, 0 skipped"
    inside = described(WorkerMetrics({0: 1}, 1.0, 1, 1, 0, 1), RateHistory(), 20, 0.0).plain
    assert "1 record written, 1 task restarted, 1 record failed" in inside
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    changes = [
        OffsetChange(ChangeKind.ALTER, partition, {"kafka_offset": 1}, {"kafka_offset": 0}, Effect(one, 0))
        for one in (1, 0)
    ]
    assert wording._total(changes) == ": 1 record read again, 0 skipped"


def test_a_place_has_only_its_known_parts() -> None:
    def shown(**place: object) -> str:
        record = {"time": 1, "task": 0, "stage": "produce", "message": "no", **place}
        return failed_records.content({"since": 1, "total": {"failed": 1}, "last": [record]}).plain

    assert " t1 produce" in shown(topic="t1", partition=None, offset=None)
    assert " t1-2 produce" in shown(topic="t1", partition=2)
    assert " t1-0@17 produce" in shown(topic="t1", partition=0, offset=17)
    assert "None" not in shown(topic="t1", partition=None, offset=None)
