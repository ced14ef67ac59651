"""Distinguishes async tasks from others, and plugins from the adapters that run async tasks."""

from __future__ import annotations

import inspect
from typing import Any

from runtime.api.async_task import AsyncSinkTask, AsyncSourceTask, AsyncTask
from runtime.api.task import SinkTask, SourceTask

_METHODS = ("start", "stop", "poll", "put", "flush", "pre_commit", "open", "close", "commit", "commit_record")
_BASES = (SourceTask, SinkTask, AsyncSourceTask, AsyncSinkTask)


class AsyncAdapter:
    """Marks the classes that present an async task to the worker as a task with ordinary methods."""

    plugin: Any


def is_async(task: object) -> bool:
    """Whether a task is run on an event loop: any of its methods is a coroutine function."""
    if isinstance(task, AsyncTask):
        return True
    return any(inspect.iscoroutinefunction(getattr(type(task), name, None)) for name in _METHODS)


def implements(task: object, method: str) -> bool:
    """Whether the author of a task has implemented this optional method."""
    plugin = task.plugin if isinstance(task, AsyncAdapter) else task
    own = getattr(type(plugin), method, None)
    return own is not None and all(own is not getattr(base, method, None) for base in _BASES)
