"""The settings of a sink task's consumer."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.pipeline.sink.consumer import make_consumer

HEARTBEAT = "heartbeat.interval.ms"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Records the settings of new consumers."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr("confluent_kafka.Consumer", found.append)
    return found


def _make(alone: bool, **settings: Any) -> None:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    make_consumer(given, lambda error, partitions: None, 64, alone)


def test_members_of_a_group_notice_a_rebalance_within_half_a_second(made: list[dict[str, Any]]) -> None:
    _make(alone=False)
    _make(alone=True)
    _make(alone=False, heartbeat_interval_ms=2000)
    assert [settings.get(HEARTBEAT) for settings in made] == [500, None, 2000]


def test_offsets_are_committed_by_the_task_alone(made: list[dict[str, Any]]) -> None:
    _make(alone=True, enable_auto_commit=True, auto_offset_reset="latest")
    assert made[0]["enable.auto.commit"] is False
    assert made[0]["auto.offset.reset"] == "latest"
