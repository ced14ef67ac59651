"""Connectors' own offset topics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from runtime.kafka.log.clients import LogClients
from runtime.storage.connector_offsets import ConnectorOffsets, OffsetTopicUnusable
from runtime.storage.offsets import OffsetStore
from runtime.storage.port import Logs
from tests.support.herder.memory_logs import TestLogs, topic


class SlowLogs(TestLogs):
    """Logs that start and end when the test allows it."""

    def __init__(self) -> None:
        super().__init__()
        self.starting, self.may_start, self.closed = asyncio.Event(), asyncio.Event(), False
        self.closing, self.may_close = asyncio.Event(), asyncio.Event()
        self.may_close.set()

    async def start(self) -> None:
        self.starting.set()
        await self.may_start.wait()

    async def close(self) -> None:
        self.closing.set()
        await self.may_close.wait()
        self.closed = True


def offsets_of(configs: Mapping[str, Mapping[str, str]], *logs: SlowLogs) -> ConnectorOffsets:
    """Offsets of these connectors; their own topics are opened with these logs, one after another."""
    left = iter(logs)
    return ConnectorOffsets(
        OffsetStore(TestLogs(), topic("o")), topic, lambda overrides: cast(LogClients, None), configs.get,
        lambda config: config.get("offsets.storage.topic", ""), lambda: list(configs),
        new_logs=lambda clients: cast(Logs, cast(Any, next(left))),
    )  # fmt: skip


async def test_a_connector_may_be_deleted_while_its_own_topic_is_opened() -> None:
    logs, configs = SlowLogs(), {"a": {"offsets.storage.topic": "own"}}
    offsets = offsets_of(configs, logs)
    reading = asyncio.create_task(offsets.read_to_end("a"))
    await logs.starting.wait()
    del configs["a"]
    logs.may_start.set()
    await reading
    await offsets.open()
    assert logs.closed, "no connector has the topic any more"


@pytest.mark.parametrize("opened", [True, False])
async def test_other_connectors_do_not_wait_for_a_topic_whose_cluster_does_not_respond(opened: bool) -> None:
    """Not even if their own topics have not been opened yet."""
    away, configs = SlowLogs(), {"a": {"offsets.storage.topic": "away"}, "b": {}, "c": {"offsets.storage.topic": "own"}}
    own = SlowLogs()
    own.may_start.set()
    offsets = offsets_of(configs, *((own, away) if opened else (away, own)))
    if opened:
        await offsets.read_to_end("c")
    reading = asyncio.create_task(offsets.read_to_end("a"))
    await away.starting.wait()
    await asyncio.wait_for(asyncio.gather(offsets.read_to_end("b"), offsets.read_to_end("c")), 5)
    assert not reading.done()
    away.may_start.set()
    await reading
    await offsets.close()
    assert own.closed and away.closed


async def test_a_topic_without_rights_that_another_call_closes_is_unusable_for_all() -> None:
    own, away = SlowLogs(), SlowLogs()
    own.may_start.set()
    configs = {"a": {"offsets.storage.topic": "own"}}
    offsets = offsets_of(configs, own, away)
    await offsets.read_to_end()
    configs["b"] = {"offsets.storage.topic": "away"}
    own.by_topic["own"].lost = "the right to read was withdrawn"
    reading = asyncio.create_task(offsets.read_to_end())
    await away.starting.wait()
    with pytest.raises(OffsetTopicUnusable, match="withdrawn"):
        await offsets.read_to_end("a")
    away.may_start.set()
    with pytest.raises(OffsetTopicUnusable, match="withdrawn"):
        await reading


async def test_a_topic_that_is_used_again_while_unused_ones_are_closed_is_opened_again() -> None:
    configs = {name: {"offsets.storage.topic": name} for name in ("a", "b")}
    before, after = (SlowLogs(), SlowLogs()), (SlowLogs(), SlowLogs())
    for logs in (*before, *after):
        logs.may_start.set()
    offsets = offsets_of(configs, *before, *after)
    await offsets.read_to_end()
    stored = dict(configs)
    configs.clear()
    for logs in before:
        logs.may_close.clear()
    closing = asyncio.create_task(offsets.open())
    await asyncio.wait([asyncio.create_task(logs.closing.wait()) for logs in before], return_when="FIRST_COMPLETED")
    configs.update(stored)
    reading = [asyncio.create_task(offsets.read_to_end(name)) for name in configs]
    await asyncio.sleep(0)
    for logs in before:
        logs.may_close.set()
    await asyncio.gather(closing, *reading)
    assert [logs.closed for logs in (*before, *after)] == [True, True, False, False]
    assert all(logs.starting.is_set() for logs in after)
