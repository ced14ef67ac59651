"""Errors after which the same request may succeed."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from runtime.kafka.errors import is_transient


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (KafkaError.NOT_CONTROLLER, "moved", True),
        (KafkaError.INVALID_REPLICATION_FACTOR, "Unable to replicate: All brokers are currently fenced.", True),
        (KafkaError.INVALID_REPLICATION_FACTOR, "only 1 broker(s) are registered.", False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied", False),
    ],
)
def test_which_errors_may_pass(code: int, text: str, expected: bool) -> None:
    assert is_transient(KafkaError(code, text)) is expected
