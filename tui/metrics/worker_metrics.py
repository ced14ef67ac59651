"""Metrics of a Headrace worker from `GET /metrics`: its slots, and sums over all tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

WRITTEN = ("sink_task_metrics_sink_record_send_total", "source_task_metrics_source_record_write_total")
FAILED = "task_error_metrics_total_record_errors"
_SAMPLE = re.compile(r"\{(?P<labels>.*)\} (?P<value>\S+)$")
_LABEL = re.compile(r'(?P<name>\w+)="(?P<text>(?:\\.|[^"\\])*)"')


class WorkerMetrics(NamedTuple):
    """`slots` has the tasks by slot. Records are counted since the worker started; `lag` is None without sinks.
    `memory` has bytes by slot with those of its JVM for Java plugins, `java_memory` those of the JVMs alone.
    `without_core` is the number of slots that wait for a core of a Spark cluster."""

    slots: Mapping[int, int] = {}
    written: float = 0.0
    lag: int | None = None
    failed: int = 0
    stalled: int = 0
    restarts: int = 0
    memory: Mapping[int, int] = {}
    java_memory: Mapping[int, int] = {}
    without_core: int = 0

    @property
    def tasks(self) -> int:
        return sum(self.slots.values())


def worker_metrics(text: str) -> WorkerMetrics:
    """Parses only the needed families, since the text of many tasks has megabytes."""
    lags = [value for _, value in samples(text, "headrace_sink_record_lag")]
    return WorkerMetrics(
        slots=_by_slot(text, "headrace_slot_tasks"),
        written=sum(value for name in WRITTEN for _, value in samples(text, f"kafka_connect_{name}")),
        lag=int(sum(lags)) if lags else None,
        failed=_total(text, f"kafka_connect_{FAILED}"),
        stalled=_total(text, "headrace_task_stalled"),
        restarts=_total(text, "headrace_task_restarts_total"),
        memory=_by_slot(text, "headrace_slot_memory_bytes"),
        java_memory=_by_slot(text, "headrace_slot_java_memory_bytes"),
        without_core=_total(text, "headrace_slots_without_core"),
    )


def _by_slot(text: str, family: str) -> dict[int, int]:
    slot_samples = samples(text, family)
    return {int(labels["slot"]): int(value) for labels, value in slot_samples if labels.get("slot", "").isdecimal()}


def _total(text: str, family: str) -> int:
    return int(sum(value for _, value in samples(text, family)))


def samples(text: str, family: str) -> Iterator[tuple[Mapping[str, str], float]]:
    """Labels and value of each sample of one family; invalid lines are skipped."""
    at = text.find(f"# TYPE {family} ")
    place = text.find("\n", at) + 1 if at >= 0 else 0
    while text.startswith(family, place):
        end = text.find("\n", place)
        end = end if end >= 0 else len(text)
        if (sample := _sample(text[place + len(family) : end])) is not None:
            yield sample
        place = end + 1


def _sample(line: str) -> tuple[Mapping[str, str], float] | None:
    match = _SAMPLE.match(line)
    labels = {match["name"]: match["text"] for match in _LABEL.finditer(match["labels"])} if match else {}
    try:
        return labels, float(match["value"] if match else line)
    except ValueError:
        return None
