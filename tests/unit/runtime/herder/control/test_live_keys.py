"""Keys of a connector that take effect while its tasks run: rate limits and policies of restarts."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from runtime.herder.responses import EntryResponse
from runtime.model.rate_limit import UNLIMITED, RateLimit
from runtime.model.states import TaskId
from tests.support.herder.herder_rig import HerderRig

FIRST, SECOND = TaskId("a", 0), TaskId("a", 1)
RECORDS, BYTES = "headrace.rate.records", "headrace.rate.bytes"


async def change(rig: HerderRig, **config: str) -> None:
    stored = rig.configs.connector("a")
    assert stored is not None
    changed = {key.replace("_", "."): text for key, text in config.items()}
    await rig.configs.put_connector("a", {**stored.config, **changed})


def limits(rig: HerderRig) -> list[RateLimit]:
    return [rig.engine.running[task].limit for task in (FIRST, SECOND) if task in rig.engine.running]


async def test_a_limit_is_shared_by_the_tasks_and_changes_without_a_restart(rig: HerderRig) -> None:
    await rig.run("a", tasks_max="2", headrace_rate_records="100")
    assert limits(rig) == [RateLimit(50)] * 2
    await change(rig, headrace_rate_records="10", headrace_rate_bytes="4000")
    await rig.until(lambda: limits(rig) == [RateLimit(5, 2000)] * 2)
    stored = rig.configs.connector("a")
    assert stored is not None
    await rig.configs.put_connector("a", {k: v for k, v in stored.config.items() if k not in (RECORDS, BYTES)})
    await rig.until(lambda: limits(rig) == [UNLIMITED] * 2)
    assert (rig.engine.started, rig.plugins.starts) == ([FIRST, SECOND], ["a"])


async def test_another_number_of_tasks_changes_the_share(rig: HerderRig) -> None:
    await rig.run("a", tasks_max="1", headrace_rate_records="100")
    await change(rig, tasks_max="2")
    await rig.until(lambda: limits(rig) == [RateLimit(50)] * 2)


async def test_a_restart_keeps_a_limit_that_was_changed_later(rig: HerderRig) -> None:
    await rig.run("a", headrace_rate_records="100")
    await change(rig, headrace_rate_records="7")
    await rig.until(lambda: limits(rig) == [RateLimit(7)])
    await rig.herder.restart_task("a", 0)
    await rig.until(lambda: rig.engine.started.count(FIRST) == 2)
    assert limits(rig) == [RateLimit(7)]


async def test_plugins_never_receive_these_keys(rig: HerderRig) -> None:
    await rig.create("a", headrace_rate_records="100", headrace_restart_attempts="3")
    await rig.until(lambda: FIRST in rig.engine.running)
    assert not [key for key in rig.engine.running[FIRST].connector_config if key.startswith("headrace.")]
    stored = rig.configs.connector("a")
    assert stored is not None and {RECORDS, "headrace.restart.attempts"} <= stored.config.keys()


async def test_a_policy_of_restarts_changes_without_a_restart(rig: HerderRig) -> None:
    await rig.run("a")
    await change(rig, headrace_restart_attempts="2")
    assert rig.restarts.response("a")["policy"]["attempts"] == 2
    await change(rig, tasks_max="2")  # a change that does restart, so that the one before has been processed
    await rig.until(lambda: len(limits(rig)) == 2)
    assert rig.plugins.starts == ["a", "a"]


async def test_followers_of_the_events_receive_a_config_that_changes_no_state(rig: HerderRig) -> None:
    await rig.run("a", headrace_rate_records="100")
    seen = rig.events.last
    await change(rig, headrace_rate_records="7")
    async with asyncio.timeout(30):
        event = await anext(rig.events.follow(seen, 30))
    assert event is not None and event.kind == "connector"
    assert cast("EntryResponse", event.data)["info"]["config"]["headrace.rate.records"] == "7"


async def test_a_limit_may_be_a_variable(rig: HerderRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_RATE", "12")
    await rig.create("a", headrace_rate_records="${env:HEADRACE_TEST_RATE}")
    await rig.until(lambda: limits(rig) == [RateLimit(12)])
    monkeypatch.delenv("HEADRACE_TEST_RATE")
    await change(rig, headrace_rate_bytes="1000")
    await rig.herder.restart_task("a", 0)
    await rig.until(lambda: rig.engine.started.count(FIRST) == 2)
    assert limits(rig) == [RateLimit(12)], "the last one, since the limit protects other systems"
