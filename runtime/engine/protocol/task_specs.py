"""Task specifications from JSON, and messages about tasks."""

from __future__ import annotations

from typing import Any

from runtime.engine.protocol.channel import Message
from runtime.model.states import TaskId
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec, TopicGroup

Key = tuple[TaskId, int]
"""One run of a task: its id and epoch."""

_CONVERTERS = ("key_converter", "value_converter", "header_converter")


def spec_from_json(data: dict[str, Any]) -> TaskSpec:
    """The specification in the JSON object `data`."""
    converters = {
        name: ConverterSpec(**data[name]) for name in ("key_converter", "value_converter", "header_converter")
    }
    offsets = [SourceOffset(**offset) for offset in data["offsets"]]
    groups = [TopicGroup(**group) for group in data["topic_groups"]]
    return TaskSpec(**{**data, **converters, "offsets": offsets, "topic_groups": groups})


def about(op: str, spec: TaskSpec, **more: Any) -> Message:
    """A message about one run of a task."""
    return {"op": op, "connector": spec.connector, "task": spec.task, "epoch": spec.epoch, **more}


def key_of(message: Message) -> Key:
    """The run that a message is about."""
    return TaskId(message["connector"], message["task"]), message["epoch"]
