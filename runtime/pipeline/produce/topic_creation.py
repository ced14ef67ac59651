"""Creates the topics of a source before their first record if the connector configures that (KIP-158)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.api.errors import ConnectError
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.kafka.clients.open_clients import admin_client
from runtime.kafka.denials import denial
from runtime.kafka.errors import is_transient

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from runtime.model.task_spec import TaskSpec, TopicGroup
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_TIMEOUT = 10.0  # seconds for one request
_RETRY_DELAY = 1.0  # seconds between two attempts
_BROKERS_DEFAULT = -1


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
