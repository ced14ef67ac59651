"""A sink task's consumer: its settings, and the memory that the consumers of a slot share for fetched messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError

from runtime.api.errors import ConnectError
from runtime.model.states import State
from runtime.pipeline.sink.consumer import Events, FetchBudget, consumer_settings, slot_budget
from tests.support.broker import KafkaBroker
from tests.support.clock import Clock
from tests.support.tasks.pipeline import file_sink
from tests.support.tasks.slot_host import RunningTask

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


def test_consumers_get_decreasing_shares_of_the_budget() -> None:
    budget = FetchBudget(256 * 1024)
    shares = [budget.take() for _ in range(100)]
    assert shares[0] == 32 * 1024
    assert shares[-1] == 1024
    assert sum(shares) < 400 * 1024
    for share in shares:
        budget.give_back(share)
    assert budget.take() == 32 * 1024


def test_a_session_timeout_that_the_brokers_refuse_fails_the_task(
    broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """The client would try to join its group again without end, and the task would be RUNNING."""
    spec = file_sink(broker, tmp_path / "x", topic)
    task = RunningTask(replace(spec, consumer={**spec.consumer, "session.timeout.ms": 1000}))
    task.join()
    assert "session.timeout.ms=1000 is not between the brokers' group.min.session.timeout.ms" in task.host.trace


def test_a_strategy_that_the_group_refuses_fails_the_task_unless_the_other_members_leave() -> None:
    refusal = Mock(topic=lambda: None, error=lambda: KafkaError(KafkaError.INCONSISTENT_GROUP_PROTOCOL, "refused"))
    clock = Clock()
    events = Events({"group.id": "connect-s", "session.timeout.ms": 6000}, clock)
    for _ in range(6):  # the client joins again every two seconds
        events.without([refusal])
        clock.now += 2
    clock.now += 60  # a member meanwhile
    events.without([refusal])
    clock.now += 9
    events.without([refusal])
    clock.now += 9
    with pytest.raises(ConnectError, match=r"members of group connect-s have another partition\.assignment\.strategy"):
        events.without([refusal])


@pytest.mark.parametrize("setting", [{"session.timeout.ms": "nonsense"}, {"no.such.setting": "1"}])
def test_a_consumer_that_cannot_be_created_returns_its_memory(
    broker: KafkaBroker, setting: dict[str, str], tmp_path: Path
) -> None:
    share = slot_budget.take()
    slot_budget.give_back(share)
    spec = file_sink(broker, tmp_path / "x", "t")
    spec = replace(spec, consumer={**spec.consumer, **setting})
    for _ in range(20):
        task = RunningTask(spec)
        task.join()
        assert task.host.states == [State.FAILED]
    assert slot_budget.take() == share
    slot_budget.give_back(share)
