"""Prometheus' text format, the metrics of plugins in it, and the cause of a wait in GET /health."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

from runtime.herder.monitoring.metrics import MetricFamilies, WorkerHealth, add_plugin_metrics
from runtime.herder.status.meter_board import TaskMeter
from runtime.pipeline.task.meter import Meter
from runtime.pipeline.task.plugin_metrics import Metric


def test_samples_are_grouped_by_family_and_labels_escaped() -> None:
    families = MetricFamilies()
    families.gauge("connector_count", {}, 2, "How many.")
    families.counter("headrace_x_total", {"connector": 'a"\\\n'}, 1.5, "What.")
    families.gauge("connector_count", {"task": 0}, True, "How many.")
    families.gauge("left_out", {}, None, "Nothing.")
    assert families.text() == (
        "# HELP kafka_connect_connector_count How many.\n# TYPE kafka_connect_connector_count gauge\n"
        'kafka_connect_connector_count 2\nkafka_connect_connector_count{task="0"} 1\n'
        "# HELP headrace_x_total What.\n# TYPE headrace_x_total counter\n"
        'headrace_x_total{connector="a\\"\\\\\\n"} 1.500\n'
    )


def test_open_metrics_have_families_without_the_suffix_of_counters() -> None:
    families = MetricFamilies()
    families.gauge("connector_count", {}, 2, 'How "many".')
    families.counter("headrace_x_total", {"connector": 'a"'}, 1.5, "What.")
    families.counter("task_error_metrics_total_retries", {}, 3, "Apache's name.")
    assert families.open_metrics() == (
        '# HELP kafka_connect_connector_count How \\"many\\".\n# TYPE kafka_connect_connector_count gauge\n'
        "kafka_connect_connector_count 2\n"
        '# HELP headrace_x What.\n# TYPE headrace_x counter\nheadrace_x_total{connector="a\\""} 1.500\n'
        "# HELP kafka_connect_task_error_metrics_total_retries Apache's name.\n"
        "# TYPE kafka_connect_task_error_metrics_total_retries unknown\n"
        "kafka_connect_task_error_metrics_total_retries 3\n# EOF\n"
    )


def test_numbers_that_are_not_finite_are_in_the_words_of_prometheus() -> None:
    """As of a plugin that divides by zero: all other metrics would be missing."""
    families = MetricFamilies()
    for value in (math.nan, math.inf, -math.inf):
        families.gauge("headrace_x", {}, value, "What.")
    assert families.text().splitlines()[2:] == ["headrace_x NaN", "headrace_x +Inf", "headrace_x -Inf"]


def test_health_names_the_cause_before_and_after_the_worker_is_ready() -> None:
    cluster, place = SimpleNamespace(cluster_id="", error=""), SimpleNamespace(trouble="")
    health = WorkerHealth(cluster, waiting_for="the group g", membership=place)
    assert health.trouble == "waiting for the group g"
    place.trouble = "User:me is not authorized to READ group g"
    assert health.trouble == "waiting for the group g: User:me is not authorized to READ group g"
    health.ready = True
    assert health.trouble == "User:me is not authorized to READ group g"
    cluster.error = "User:me is not authorized to READ topic t"
    assert health.trouble == "User:me is not authorized to READ topic t"
    place.trouble = cluster.error = ""
    assert health.trouble is None


@dataclass
class _Metric:
    name: str
    description: str
    tags: Mapping[str, str]
    value: float


class _Owner:
    metrics_changed: Callable[[], None] | None = None
    metrics: Sequence[Metric] = (
        _Metric("lag-avg", "Lag\nin ms", {"connector": "", "task": "", "slot-name": "a"}, 1.5),
        _Metric("lag.avg", "The same name to Prometheus", {"slot-name": "a"}, 2.0),
    )


def test_metrics_of_plugins_become_samples_with_the_labels_of_their_task() -> None:
    meter, owner = Meter(), _Owner()
    meter.watch([({"transformation": "t"}, owner)])
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
