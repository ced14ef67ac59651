"""Creation of the storage topics, and checks that existing ones are suitable."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from runtime.kafka.denials import denial, is_denial, principal
from runtime.kafka.errors import BrokerUnavailable, NotAuthorizedError, RightMissing, StorageTopicError, is_transient

_log = logging.getLogger(__name__)
_TIMEOUT = 15.0  # seconds for one admin request
POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A storage topic as the worker's file describes it."""

    topic: str
    partitions: int  # -1: the broker's default
    replication_factor: int  # -1: the broker's default
    prefix: str  # of its worker properties: `config.storage`, `offset.storage` or `status.storage`
    single: bool = False  # its records are ordered, so it must have exactly one partition
    settings: Mapping[str, str] = field(default_factory=dict)  # further topic settings (KIP-605)
    created: bool = True  # whether the worker creates it (internal.topics.automatic.creation.enable)


def ensure_topics(
    admin: Any, settings: Mapping[str, Any], specs: Sequence[TopicSpec], existing: Mapping[str, int]
) -> bool:
    """Create missing topics and check the others (`existing`: partition counts by name). Returns whether any was
    created.

    StorageTopicError if a topic cannot be used, BrokerUnavailable if Kafka does not respond. Blocks: for the reader's
    thread."""
    missing = [s for s in specs if s.topic not in existing]
    present = [s for s in specs if s.topic in existing]
    for spec in present:
        if spec.single and existing[spec.topic] != 1:
            raise StorageTopicError(several_partitions(spec, existing[spec.topic]))
    if present:
        check_policies(admin, settings, present)
    if refused := [spec for spec in missing if not spec.created]:
        raise StorageTopicError(_to_create_by_hand(refused))
    if missing:
        _create(admin, settings, missing)
    return bool(missing)


def several_partitions(spec: TopicSpec, count: int) -> str:
    """The message for a topic that must have a single partition."""
    return (
        f"topic {spec.topic} ({spec.prefix}.topic) has {count} partitions, but configurations are ordered only within "
        f"one: set {spec.prefix}.topic to a topic with a single partition"
    )


def _to_create_by_hand(specs: Sequence[TopicSpec]) -> str:
    """All of them, so that they can be created at once."""
    named = ", ".join(f"{spec.topic} ({spec.prefix}.topic, {_partitions(spec)})" for spec in specs)
    return (
        f"missing topics: {named}. Create them by hand with cleanup.policy=compact, or set "
        "internal.topics.automatic.creation.enable=true"
    )


def _partitions(spec: TopicSpec) -> str:
    if spec.single or spec.partitions == 1:
        return "1 partition"
    return f"{spec.partitions} partitions" if spec.partitions > 0 else "any number of partitions"


def _create(admin: Any, settings: Mapping[str, Any], specs: Sequence[TopicSpec]) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    new = [
        NewTopic(
            s.topic,
            num_partitions=s.partitions,
            replication_factor=s.replication_factor,
            config={**s.settings, POLICY: "compact"},
        )
        for s in specs
    ]
    futures: dict[str, Future[None]] = admin.create_topics(new, request_timeout=_TIMEOUT)
    for spec in specs:
        try:
            futures[spec.topic].result()
            _log.info("Created topic %s (%s.topic)", spec.topic, spec.prefix)
        except KafkaException as e:
            error: KafkaError = e.args[0]
            if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise _creation_error(settings, spec, error) from None
            _check_visible(admin, settings, spec.topic)


def _check_visible(admin: Any, settings: Mapping[str, Any], topic: str) -> None:
    """A topic that exists but was not listed has just been created by another worker, or may not be described."""
    metadata = admin.list_topics(topic, timeout=_TIMEOUT).topics[topic]
    if metadata.error is not None and is_denial(metadata.error):
        raise RightMissing(denial(settings, "DESCRIBE", f"topic {topic}"))


def _creation_error(settings: Mapping[str, Any], spec: TopicSpec, error: Any) -> Exception:
    from confluent_kafka import KafkaError

    if is_transient(error):
        return BrokerUnavailable(f"topic {spec.topic} could not be created yet: {error.str()}")
    if is_denial(error):
        return NotAuthorizedError(
            f"topic {spec.topic} ({spec.prefix}.topic) does not exist, or {principal(settings)} may not DESCRIBE it: "
            + denial(settings, "CREATE", f"topic {spec.topic}")
            + ", or create it by hand (compacted) and grant DESCRIBE, DESCRIBE_CONFIGS, READ and WRITE on it"
        )
    remedy = f"create it by hand (compacted), or set {spec.prefix}.topic to another topic"
    if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
        remedy = f"set {spec.prefix}.replication.factor to at most the number of brokers (or -1 for their default)"
    return StorageTopicError(f"topic {spec.topic} ({spec.prefix}.topic) could not be created: {error.str()}; {remedy}")


def request_settings(admin: Any, specs: Sequence[TopicSpec]) -> list[tuple[TopicSpec, Future[Any]]]:
    """Request the settings of topics."""
    from confluent_kafka.admin._config import ConfigResource
    from confluent_kafka.admin._resource import ResourceType

    by_resource = {ConfigResource(ResourceType.TOPIC, s.topic): s for s in specs}
    responses = admin.describe_configs(list(by_resource), request_timeout=_TIMEOUT)
    return [(by_resource[resource], future) for resource, future in responses.items()]


def unsuitable_policy(spec: TopicSpec, policy: str) -> str:
    """The message for a topic that is not compacted."""
    return (
        f"topic {spec.topic} ({spec.prefix}.topic) has cleanup.policy={policy}, so Kafka would delete "
        f"state of this cluster: set cleanup.policy=compact on it, or set {spec.prefix}.topic to another topic"
    )


def check_policies(admin: Any, settings: Mapping[str, Any], specs: Sequence[TopicSpec]) -> None:
    """StorageTopicError if a topic is not compacted, BrokerUnavailable if that cannot be read."""
    from confluent_kafka import KafkaError, KafkaException

    for spec, future in request_settings(admin, specs):
        try:
            policy = future.result()[POLICY].value
        except KafkaException as e:
            if e.args[0].code() not in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                raise BrokerUnavailable(
                    f"settings of topic {spec.topic} could not be read: {e.args[0].str()}"
                ) from None
            missing = denial(settings, "DESCRIBE_CONFIGS", f"topic {spec.topic}")
            _log.warning("%s; make sure that the topic is compacted", missing)
            continue
        if policy != "compact":
            raise StorageTopicError(unsuitable_policy(spec, policy))
