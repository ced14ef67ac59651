"""How the records of a source task reach Kafka: the interface of at-least-once and exactly-once delivery."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.pipeline.produce.topic_creation import TopicCreator

if TYPE_CHECKING:
    from runtime.api.data.record import SourceRecord
    from runtime.api.task import SourceTask
    from runtime.model.task_spec import TaskSpec
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.task.control import Control

_log = logging.getLogger(__name__)

REPORTS = 0.02
"""Seconds of one wait for delivery reports."""


class SourceDelivery(Protocol):
    """Sends polled records and commits their offsets. Every method is called on the task's thread."""

    def start(self) -> None:
        """Called once, before the task's start()."""

    def process(self, records: Sequence[SourceRecord]) -> None:
        """Convert and send the records of one poll. Raises the error that fails the task."""

    def tend(self) -> None:
        """Called after each poll: process acknowledgements, and commit when a commit is due."""

    def pause(self) -> None:
        """The task is paused: no poll follows until it is resumed."""

    def wait(self, seconds: float) -> None:
        """Wait while there is nothing to poll, for at most `seconds`."""

    def finish(self, failed: bool) -> None:
        """The task ends: commit what can be committed within the flush timeout. `failed`: an exception ends it."""


class TopicsInUse:
    """Creates the topics of a task before their first records, and reports each topic once."""

    def __init__(self, spec: TaskSpec, host: SlotHost, control: Control) -> None:
        self._spec, self._host = spec, host
        self._reported = control.topics  # emptied by another thread when the topics are to be reported again
        self._creator = TopicCreator(spec, control)
        self._ensured: set[str] = set()  # topics that exist or that the broker may create

    def use(self, topic: str) -> None:
        """Called before records are sent to a topic."""
        if topic in self._reported:
            return
        if topic not in self._ensured:
            self._creator.ensure(topic)
            self._ensured.add(topic)
        self._reported.add(topic)
        if self._spec.track_topics:
            self._host.topic(self._spec, topic)


def notify_task(task: SourceTask, control: Control) -> None:
    """Call the task's commit() after offsets have been committed; its exceptions are logged."""
    try:
        with control.calling("commit"):
            task.commit()
    except Exception:
        _log.exception("The task's commit() failed; its offsets are committed nevertheless")
