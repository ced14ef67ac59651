"""`auto.offset.reset` with the values of Java's consumer, durations (KIP-1106) included."""

from __future__ import annotations

import pytest

from runtime.kafka.clients.offset_reset import AGE
from runtime.kafka.clients.settings import client_config
from runtime.kafka.errors import ClientConfigError

WORKER = {"bootstrap.servers": "localhost:1"}


def _consumer(value: str) -> dict[str, object]:
    return client_config(WORKER, "consumer", {"consumer.override.auto.offset.reset": value}).settings


@pytest.mark.parametrize(
    "value, seconds",
    [
        ("by_duration:PT1H", 3600),
        ("by_duration:P2DT3H4M5.5S", 2 * 86_400 + 3 * 3600 + 4 * 60 + 5.5),
        ("by_duration:pt0s", 0),
        ("by_duration:PT1H-15M", 2700),
        ("by_duration:-PT-1H", 3600),
    ],
)
def test_durations_are_those_of_java(value: str, seconds: float) -> None:
    settings = _consumer(value)
    assert (settings["auto.offset.reset"], settings[AGE]) == ("error", seconds)


@pytest.mark.parametrize(
    "value, message",
    [
        ("by_duration", "<:duration> part is missing in by_duration auto offset reset strategy."),
        ("by_duration:", "Unable to parse duration string in by_duration offset reset strategy."),
        ("by_duration:1h", "Unable to parse duration string in by_duration offset reset strategy."),
        ("by_duration:P", "Unable to parse duration string in by_duration offset reset strategy."),
        ("by_duration:P1DT", "Unable to parse duration string in by_duration offset reset strategy."),
        ("by_duration:-PT1H", "Negative duration is not supported in by_duration offset reset strategy."),
        ("never", "Unknown auto offset reset strategy: never"),
    ],
)
def test_other_values_are_refused(value: str, message: str) -> None:
    with pytest.raises(ClientConfigError) as e:
        _consumer(value)
    assert str(e.value) == f"Invalid value {value} for configuration auto.offset.reset: {message}"
