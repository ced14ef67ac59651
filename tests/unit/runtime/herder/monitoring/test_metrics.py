"""Prometheus' text format: grouping by family, escapes, numbers."""

from __future__ import annotations

from runtime.herder.monitoring.metrics import MetricFamilies


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
