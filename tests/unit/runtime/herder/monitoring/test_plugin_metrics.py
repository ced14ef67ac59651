"""Metrics that plugins register themselves, from a task's meter to Prometheus' text."""

from __future__ import annotations

import json
from typing import NamedTuple

from runtime.herder.monitoring.metrics import MetricFamilies, add_plugin_metrics
from runtime.herder.status.meter_board import TaskMeter
from runtime.pipeline.task.meter import Meter


class _Metric(NamedTuple):
    name: str
    description: str
    tags: dict[str, str]
    value: float


class _Owner:
    metrics_changed = None
    metrics = (
        _Metric("lag-avg", "Lag\nin ms", {"connector": "", "task": "", "slot-name": "a"}, 1.5),
        _Metric("lag.avg", "The same name to Prometheus", {"slot-name": "a"}, 2.0),
    )


def test_metrics_of_plugins_become_samples_with_the_labels_of_their_task() -> None:
    meter, owner = Meter(), _Owner()
    meter.watch([({"transformation": "t"}, owner)])  # type: ignore[list-item] # assigned by the meter
    before = meter.changes
    assert owner.metrics_changed is not None
    owner.metrics_changed()
    assert meter.changes > before
    board = TaskMeter()
    board.report(1, json.loads(json.dumps(meter.snapshot())))
    families = MetricFamilies()
    add_plugin_metrics(families, {"connector": "c", "task": 0}, board.plugins)
    assert families.text() == (
        "# HELP kafka_connect_plugins_lag_avg Lag\\nin ms\n# TYPE kafka_connect_plugins_lag_avg gauge\n"
        'kafka_connect_plugins_lag_avg{connector="c",task="0",transformation="t",slot_name="a"} 1.500\n'
    )
