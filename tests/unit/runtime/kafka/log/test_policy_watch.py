"""The cleanup policy of a storage topic that is changed while a worker runs."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from runtime.kafka.log.policy_watch import PolicyWatch
from runtime.kafka.log.topics import TopicSpec
from tests.support.broker import KafkaBroker
from tests.support.waiting import allowed, wait_until


def _set_policy(broker: KafkaBroker, topic: str, policy: str) -> None:
    entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(allowed(20))


def test_a_changed_policy_is_logged_once(broker: KafkaBroker, caplog: pytest.LogCaptureFixture) -> None:
    topic = broker.create_topic(cleanup_policy="compact")
    caplog.set_level(logging.ERROR)
    watch = PolicyWatch(
        AdminClient({"bootstrap.servers": broker.bootstrap}), [TopicSpec(topic, 1, 1, "config.storage")], every=0.05
    )

    def errors() -> list[str]:
        watch.check()
        return [record.getMessage() for record in caplog.records if record.name.endswith("policy_watch")]

    for _ in range(2):
        wait_until(lambda: not errors())
    _set_policy(broker, topic, "delete")
    wait_until(errors)
    _set_policy(broker, topic, "compact,delete")
    assert len(errors()) == 1 and f"topic {topic} (config.storage.topic) has cleanup.policy=delete" in errors()[0]
