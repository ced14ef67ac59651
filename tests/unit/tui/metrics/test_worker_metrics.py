"""Metrics of a worker, parsed from its Prometheus text."""

from __future__ import annotations

from tui.metrics.worker_metrics import WorkerMetrics, samples, worker_metrics

TEXT = r"""# HELP headrace_slots Slots that are up.
# TYPE headrace_slots gauge
headrace_slots 2
# TYPE headrace_slots_without_core gauge
headrace_slots_without_core 3
# HELP headrace_slot_tasks Tasks that a slot runs.
# TYPE headrace_slot_tasks gauge
headrace_slot_tasks{slot="0"} 3
headrace_slot_tasks{slot="11"} 2
# HELP headrace_task_stalled Whether a task with work to do does none.
# TYPE headrace_slot_memory_bytes gauge
headrace_slot_memory_bytes{slot="0"} 100
headrace_slot_memory_bytes{slot="11"} 150
# TYPE headrace_slot_java_memory_bytes gauge
headrace_slot_java_memory_bytes{slot="11"} 50
# TYPE headrace_task_stalled gauge
headrace_task_stalled{connector="a} 9",task="0"} 1
headrace_task_stalled{connector="b",task="0"} 0
# HELP headrace_task_restarts_total Starts of a task after its first.
# TYPE headrace_task_restarts_total counter
headrace_task_restarts_total{connector="b",task="0"} 4
# HELP kafka_connect_sink_task_metrics_sink_record_send_total Records that were taken.
# TYPE kafka_connect_sink_task_metrics_sink_record_send_total counter
kafka_connect_sink_task_metrics_sink_record_send_total{connector="a\\\"\n",task="0"} 40
# HELP kafka_connect_source_task_metrics_source_record_write_total Records that were taken.
# TYPE kafka_connect_source_task_metrics_source_record_write_total counter
kafka_connect_source_task_metrics_source_record_write_total{connector="b",task="0"} 2.5
kafka_connect_source_task_metrics_source_record_write_total{connector="c",task="0"} what
# HELP kafka_connect_task_error_metrics_total_record_errors Failed records: failed.
# TYPE kafka_connect_task_error_metrics_total_record_errors counter
kafka_connect_task_error_metrics_total_record_errors{connector="a",task="0"} 7
# HELP headrace_sink_record_lag Records behind the ends of its partitions.
# TYPE headrace_sink_record_lag gauge
headrace_sink_record_lag{connector="a",task="0"} 12
"""


def test_the_metrics_of_a_worker() -> None:
    assert worker_metrics(TEXT) == WorkerMetrics({0: 3, 11: 2}, 42.5, 12, 7, 1, 4, {0: 100, 11: 150}, {11: 50}, 3)
    assert worker_metrics(TEXT).tasks == 5


def test_text_without_metrics() -> None:
    assert worker_metrics("") == worker_metrics("<html>no</html>") == WorkerMetrics()


def test_labels_and_metric_names_are_separated() -> None:
    assert list(samples(TEXT, "headrace_slots")) == [({}, 2.0)]
    (one, *_) = samples(TEXT, "headrace_task_stalled")
    assert one == ({"connector": "a} 9", "task": "0"}, 1.0)
    assert list(samples(TEXT, "headrace_slot")) == []
