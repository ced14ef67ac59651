"""The memory that the consumers of a slot share for fetched messages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.model.states import State
from runtime.pipeline.sink.consumer import FetchBudget, slot_budget
from tests.support.broker import KafkaBroker
from tests.support.tasks.pipeline import file_sink
from tests.support.tasks.slot_host import RunningTask


def test_consumers_get_decreasing_shares_of_the_budget() -> None:
    budget = FetchBudget(256 * 1024)
    shares = [budget.take() for _ in range(100)]
    assert shares[0] == 32 * 1024
    assert shares[-1] == 1024
    assert sum(shares) < 400 * 1024
    for share in shares:
        budget.give_back(share)
    assert budget.take() == 32 * 1024


@pytest.mark.parametrize("setting", [{"session.timeout.ms": "nonsense"}, {"no.such.setting": "1"}])
def test_a_consumer_that_cannot_be_created_returns_its_memory(broker: KafkaBroker, setting: dict[str, str]) -> None:
    share = slot_budget.take()
    slot_budget.give_back(share)
    spec = file_sink(broker, Path("x"), "t")
    spec = replace(spec, consumer={**spec.consumer, **setting})
    for _ in range(20):
        task = RunningTask(spec)
        task.join()
        assert task.host.states == [State.FAILED]
    assert slot_budget.take() == share
    slot_budget.give_back(share)
