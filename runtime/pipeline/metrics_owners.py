"""The plugins of a task that may have metrics of their own, with the labels that distinguish them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.pipeline.chain.step import ChainStep
    from runtime.pipeline.load import Converters
    from runtime.pipeline.task.plugin_metrics import MetricsOwner, MetricsOwners


def metrics_owners(task: object, converters: Converters, steps: Sequence[ChainStep]) -> MetricsOwners:
    """Those of these plugins that may have metrics."""
    for labels, plugin in _plugins(task, converters, steps):
        owner: MetricsOwner | None = getattr(plugin, "metrics_owner", None)
        if owner is not None:
            yield labels, owner


def _plugins(
    task: object, converters: Converters, steps: Sequence[ChainStep]
) -> Iterable[tuple[Mapping[str, str], object]]:
    """Each plugin with the labels that distinguish it from the others of the task, as Connect names them."""
    yield {}, task
    for name, converter in converters._asdict().items():
        yield {"converter": name}, converter
    seen: set[int] = set()
    for step in steps:
        yield {"transformation": step.name}, step.transformation
        if step.predicate is not None and id(step.predicate) not in seen:
            seen.add(id(step.predicate))
            yield {"predicate": step.predicate_name}, step.predicate
