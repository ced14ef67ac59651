"""The settings of a sink task's consumer."""

from __future__ import annotations

from typing import Any

from runtime.pipeline.sink.consumer import consumer_settings

HEARTBEAT = "heartbeat.interval.ms"


def _settings(alone: bool, **settings: Any) -> dict[str, Any]:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return consumer_settings(given, lambda error, partitions: None, 64, alone)


def test_members_of_a_group_notice_a_rebalance_within_half_a_second() -> None:
    assert _settings(alone=False)[HEARTBEAT] == 500
    assert HEARTBEAT not in _settings(alone=True)
    assert _settings(alone=False, heartbeat_interval_ms=2000)[HEARTBEAT] == 2000


def test_offsets_are_committed_by_the_task_alone() -> None:
    settings = _settings(alone=True, enable_auto_commit=True, auto_offset_reset="latest")
    assert settings["enable.auto.commit"] is False
    assert settings["auto.offset.reset"] == "latest"
