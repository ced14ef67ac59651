"""How the records of a source task reach Kafka: the interface of at-least-once and exactly-once delivery."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.api.errors import ConnectError
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.kafka.clients.open_clients import admin_client
from runtime.kafka.denials import denial
from runtime.kafka.errors import is_transient
from runtime.pipeline.task.async_adapter import implements

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.api.data.record import SourceRecord
    from runtime.api.task import SourceTask
    from runtime.model.task_spec import TaskSpec, TopicGroup
    from runtime.pipeline.port import SlotHost
    from runtime.pipeline.source.commit_requests import CommitRequests
    from runtime.pipeline.task.control import TaskControl

_TIMEOUT = 10.0  # seconds for one request
_RETRY_DELAY = 1.0  # seconds between two attempts


class TopicCreator:
    """Creates each missing topic once. If the right to create it is missing, the broker may create it."""

    def __init__(self, spec: TaskSpec, control: TaskControl) -> None:
        self._settings, self._control = spec.admin, control
        self._groups = [(group, _any(group.include), _any(group.exclude)) for group in spec.topic_groups]

    def ensure(self, topic: str) -> None:
        """Create the topic if it is missing. ConnectError if that fails. Returns early when the task stops."""
        if not self._groups:
            return
        group = self._group(topic)
        while not self._control.stopping:
            error = self._create(topic, group)
            if error is None or self._is_harmless(error, topic):
                return
            if not is_transient(error):
                raise _failure(topic, error)
            _log.warning("Topic %s could not be created yet: %s", topic, error.str())
            self._control.wait(_RETRY_DELAY)

    def _group(self, topic: str) -> TopicGroup:
        """The first group that includes the topic; the last group, the default, includes all."""
        for group, include, exclude in self._groups[:-1]:
            if include is not None and LimitedMatch(include)(topic) and not (exclude and LimitedMatch(exclude)(topic)):
                return group
        return self._groups[-1][0]

    def _create(self, topic: str, group: TopicGroup) -> KafkaError | None:
        from confluent_kafka import KafkaException
        from confluent_kafka.cimpl import NewTopic

        new = NewTopic(
            topic,
            num_partitions=group.partitions,
            replication_factor=group.replication_factor,
            config=group.settings,
        )
        try:
            with admin_client(self._settings) as admin:
                admin.create_topics([new], request_timeout=_TIMEOUT)[topic].result()
        except KafkaException as e:
            error: KafkaError = e.args[0]
            return error
        except ValueError as e:  # the client refuses the number of partitions or replicas
            raise ConnectError(f"Unable to create topic(s) '{topic}': {e}") from None
        _log.info("Created topic %s with the settings of group %s: %s", topic, group.name, group)
        return None

    def _is_harmless(self, error: KafkaError, topic: str) -> bool:
        from confluent_kafka import KafkaError as Error

        if error.code() in (Error.TOPIC_AUTHORIZATION_FAILED, Error.CLUSTER_AUTHORIZATION_FAILED):
            denied = denial(self._settings, "CREATE", f"topic {topic}")
            _log.info("%s. Without this right the topic has to exist, or the broker has to create it", denied)
            return True
        return bool(error.code() == Error.TOPIC_ALREADY_EXISTS)


def _failure(topic: str, error: KafkaError) -> ConnectError:
    failure = ConnectError(f"Unable to create topic(s) '{topic}': {error.str()}")
    failure.__cause__ = ConnectError(f"{error.name()}: {error.str()}")
    return failure


def _any(patterns: Sequence[str]) -> str | None:
    """One pattern that matches any of these; None without patterns."""
    return "|".join(patterns) if patterns else None


_log = logging.getLogger(__name__)

REPORTS = 0.02
"""Seconds of one wait for delivery reports."""


class SourceDelivery(Protocol):
    """Sends polled records and commits their offsets. Every method is called on the task's thread."""

    def start(self) -> None:
        """Called once, before the task's start()."""

    def started(self) -> None:
        """Called once, after the task's start()."""

    def process(self, records: Sequence[SourceRecord]) -> None:
        """Convert and send the records of one poll. Raises the error that fails the task."""

    def tend(self) -> None:
        """Called after each poll: process acknowledgements, and commit when a commit is due."""

    def pause(self) -> None:
        """The task is paused: no poll follows until it is resumed."""

    def wait(self, seconds: float) -> None:
        """Wait while there is nothing to poll, for at most `seconds`."""

    def possible_delay(self, seconds: float) -> float:
        """How much of a delay by the rate limit is possible before the next records."""

    def finish(self, failed: bool) -> None:
        """The task ends: commit what can be committed within the flush timeout. `failed`: an exception ends it."""


class TopicsInUse:
    """Creates the topics of a task before their first records, and reports each topic once."""

    def __init__(self, spec: TaskSpec, host: SlotHost, control: TaskControl) -> None:
        self._spec, self._host = spec, host
        self._used = control.topics
        self._creator = TopicCreator(spec, control)
        self._ensured: set[str] = set()  # topics that exist or that the broker may create

    def use(self, topic: str) -> None:
        """Called before records are sent to a topic."""
        if topic not in self._ensured:
            self._creator.ensure(topic)
            self._ensured.add(topic)
        if self._used.use(topic) and self._spec.track_topics:
            self._host.topic(self._spec, topic)


class CommitCalls:
    """Calls the task's commit(): after each commit of offsets, and at intervals while there is nothing to commit, as
    Connect does. Costs nothing if the task does not implement it.

    After commit() a task may discard all records that it has returned, so a call waits while the rate limit holds back
    some of them. A task that ends before they are sent is not called again."""

    def __init__(self, task: SourceTask, control: TaskControl, interval: float, requests: CommitRequests) -> None:
        self._task, self._control, self._interval = task, control, interval
        self._requests = requests
        self._wanted = implements(task, "commit")
        self._next = time.monotonic() + interval
        self._started = self._deferred = False

    def started(self) -> None:
        """start() has returned: from now on commit() may be called."""
        self._started = True

    def committed(self) -> None:
        """Offsets have been committed, or the task ends."""
        self._next = time.monotonic() + self._interval
        self._deferred = self._requests.held
        if not self._wanted or not self._started or self._deferred:
            return
        try:
            with self._control.calling("commit"):
                self._task.commit()
        except Exception:  # third-party code
            _log.exception("The task's commit() failed; its offsets are committed nevertheless")

    def make_up(self) -> None:
        """Make the call that had to wait, if all records that the task has returned are sent now."""
        if self._deferred and not self._requests.held:
            self.committed()

    def when_due(self) -> None:
        """Call commit() if no offsets have been committed for the interval."""
        if self._wanted and time.monotonic() >= self._next:
            self.committed()

    def wait(self, longest: float) -> float:
        """Seconds until the next call is due, at most `longest`."""
        return max(0.0, min(longest, self._next - time.monotonic())) if self._wanted else longest
