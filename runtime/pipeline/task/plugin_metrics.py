"""The metrics that plugins register themselves (KIP-877), as a part of their task's meter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol


class Metric(Protocol):
    """A metric and its present value. `tags` contains the tags that the worker provides, with empty values."""

    name: str
    description: str
    tags: Mapping[str, str]
    value: float


class MetricsOwner(Protocol):
    """An object with metrics."""

    metrics: Sequence[Metric]
    metrics_changed: Callable[[], None] | None


MetricsOwners = Iterable[tuple[Mapping[str, str], MetricsOwner]]
"""Objects with metrics, and the labels that distinguish each from the others of the task."""


def plugin_metrics(plugins: MetricsOwners) -> Iterator[list[Any]]:
    """Name, labels, value and description of every metric, as JSON."""
    for labels, owner in plugins:
        for metric in owner.metrics:
            own = {tag: text for tag, text in metric.tags.items() if text}
            yield [metric.name, {**labels, **own}, metric.value, metric.description]
