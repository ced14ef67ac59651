"""Presents tasks to the worker in one form, whether their methods are coroutines or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from runtime.pipeline.task.async_adapter import is_async

if TYPE_CHECKING:
    from runtime.api.task import SinkTask, SourceTask
    from runtime.pipeline.task.control import TaskControl


def as_source(task: Any, control: TaskControl, name: str) -> SourceTask:
    """The task itself, or an adapter that runs an async task on an event loop. `name` of its thread."""
    if not is_async(task):
        return cast("SourceTask", task)
    from runtime.pipeline.source.async_source import AsyncSourceAdapter

    return AsyncSourceAdapter(task, control, name)


def as_sink(task: Any, control: TaskControl, name: str) -> SinkTask:
    """As as_source(), for a sink task."""
    if not is_async(task):
        return cast("SinkTask", task)
    from runtime.pipeline.sink.async_sink import AsyncSinkAdapter

    return AsyncSinkAdapter(task, control, name)
