"""Task specifications from JSON, and messages about tasks."""

from __future__ import annotations

from typing import Any

from runtime.engine.protocol.messages import RunPart
from runtime.model.environment import Environment
from runtime.model.executor_size import ExecutorSize
from runtime.model.rate_limit import RateLimit
from runtime.model.states import TaskId
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec, TopicGroup

Key = tuple[TaskId, int]
"""One run of a task: its id and epoch."""


def spec_from_json(data: dict[str, Any]) -> TaskSpec:
    """The specification in the JSON object `data`."""
    converters = {
        name: ConverterSpec(**data[name]) for name in ("key_converter", "value_converter", "header_converter")
    }
    offsets = [SourceOffset(**offset) for offset in data["offsets"]]
    groups = [TopicGroup(**group) for group in data["topic_groups"]]
    environment = Environment.from_json(data["environment"])
    more = {
        "offsets": offsets,
        "topic_groups": groups,
        "environment": environment,
        "limit": RateLimit(**data["limit"]),
        "executor": ExecutorSize(**data["executor"]),
    }
    return TaskSpec(**{**data, **converters, **more})


def about(spec: TaskSpec) -> RunPart:
    """The part of a message that names this run of the task."""
    return {"connector": spec.connector, "task": spec.task, "epoch": spec.epoch}


def key_of(message: RunPart) -> Key:
    """The run that a message is about."""
    return TaskId(message["connector"], message["task"]), message["epoch"]
