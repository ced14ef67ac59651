"""The error behind an exception of a client's call."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from runtime.kafka.clients.raised import raised_error

FATAL = KafkaError(KafkaError._FENCED, fatal=True)


def caused_by(cause: Exception | None) -> SystemError:
    error = SystemError("returned a result with an exception set")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("raised", [KafkaException(FATAL), caused_by(KafkaException(FATAL))])
def test_the_error_of_the_client(raised: Exception) -> None:
    assert raised_error(raised) is FATAL


@pytest.mark.parametrize("cause", [None, ValueError("of a callback")])
def test_a_system_error_with_another_cause_is_raised_again(cause: Exception | None) -> None:
    with pytest.raises(SystemError):
        raised_error(caused_by(cause))
