"""The question whether a task whose producer has just been registered may still start (KIP-618)."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from runtime.model.task_spec import SourceOffset, TaskSpec
    from runtime.pipeline.port import SlotHost, StartAnswer
    from runtime.pipeline.task.control import Control

_CHECK_INTERVAL = 0.1  # seconds between two checks whether the task is being stopped or revoked


def confirm_start(spec: TaskSpec, host: SlotHost, control: Control) -> Sequence[SourceOffset]:
    """The committed offsets, when the worker has confirmed the start. The worker answers when it has read the config
    topic to its end; while it is suspended, the task waits, at most until the slot's lease expires.

    TaskLostError if the task must not start, ConnectError if it never can."""
    answers: queue.SimpleQueue[StartAnswer] = queue.SimpleQueue()
    host.confirm_start(spec, answers.put)
    while True:
        control.check()
        if control.stopping:
            raise StoppedError
        try:
            answer = answers.get(timeout=_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if isinstance(answer, Exception):
            raise answer
        return answer
