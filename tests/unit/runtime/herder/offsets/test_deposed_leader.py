"""A leader that is frozen between its check and its transaction, while another worker takes over, on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.stored_offsets import SourceTransactions, StoredOffsets
from runtime.kafka.errors import BrokerUnavailable
from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.configs import ConfigStore
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.journal import OffsetAction, OffsetJournal, PlannedChange
from runtime.storage.offsets import OffsetStore
from tests.support.broker import KafkaBroker, unique
from tests.support.never_called import NEVER_CALLED


class Transactions:
    """The writers of the connector's first task. `held` freezes the worker before or after the start of a writer."""

    def __init__(self, settings: Mapping[str, Any], topic: str, transactional_id: str) -> None:
        self._settings, self._topic, self._id = settings, topic, transactional_id
        self.held, self.frozen, self.thawed = "", asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def writer(self, name: str, config: Any) -> AsyncIterator[TransactionalWriter]:
        writer = TransactionalWriter(self._settings, self._id)
        await self.reach("start")
        await writer.start(self._topic)
        try:
            yield writer
        finally:
            await writer.stop()

    async def reach(self, point: str) -> None:
        if self.held == point:
            self.held = ""
            self.frozen.set()
            await self.thawed.wait()


class Worker:
    """A worker that may change offsets, with everything that it needs for that."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        settings = {"bootstrap.servers": broker.bootstrap}
        self.logs, self.leader = TopicLogs(settings), TransactionalWriter(settings, f"{prefix}-leader")
        configs = ConfigStore(self.logs, _spec(f"{prefix}-configs"), self.leader)
        self.journal = OffsetJournal(self.logs, _spec(f"{prefix}-journal"), self.leader)
        store = OffsetStore(self.logs, _spec(f"{prefix}-offsets"))
        own = ConnectorOffsets(store, _spec, NEVER_CALLED, lambda name: None, lambda config: "", list)
        self.transactions = Transactions(settings, f"{prefix}-offsets", f"{prefix}-c-0")
        transactions = cast(SourceTransactions, self.transactions)
        self.offsets = StoredOffsets(own, cast(SinkClusters, None), transactions)
        self.changes = OffsetChanges(
            self.journal, configs, self.offsets, cast(GroupSettling, None), ConnectorLocks(), retry_delay=3600.0
        )
        self._config_topic = f"{prefix}-configs"
        store_alter = store.alter

        async def alter(*args: Any) -> None:
            await self.transactions.reach("write")
            await store_alter(*args)

        store.alter = alter  # type: ignore[assignment, method-assign]  # the moment before the transaction

    async def take_over(self) -> None:
        await self.leader.start(self._config_topic)
        await self.journal.read_to_end()
        assert await self.changes.finish()

    async def set(self, position: int) -> None:
        before = tuple(await self.offsets.read("c", None))
        offsets = (({"file": "f"}, {"position": position}),)
        await self.changes.carry_out(PlannedChange("c", OffsetAction.ALTER, offsets, before, config={}))

    async def position(self) -> int:
        [(_, offset)] = await self.offsets.read("c", None)
        assert offset is not None
        return int(offset["position"])


def _spec(name: str) -> TopicSpec:
    return TopicSpec(name, 1, 1, "test", single=True)


@pytest.mark.parametrize("point", ["start", "write"])
async def test_a_deposed_leader_does_not_overwrite_offsets_when_it_wakes(broker: KafkaBroker, point: str) -> None:
    prefix = unique("deposed")
    former, successor = Worker(broker, prefix), Worker(broker, prefix)
    for worker in (former, successor):
        await worker.logs.start()
    await former.take_over()
    await former.set(1)
    former.transactions.held = point
    frozen = asyncio.create_task(former.set(2))
    await former.transactions.frozen.wait()
    await successor.take_over()
    assert await successor.position() == 2, "it finishes the change of the former leader"
    await successor.set(3)

    former.transactions.thawed.set()
    with pytest.raises(BrokerUnavailable, match="taken over"):
        await frozen
    for worker in (former, successor):
        assert await worker.position() == 3
        await worker.journal.read_to_end()
        assert (len(await worker.journal.history("c")), worker.journal.all_pending()) == (3, [])
    await successor.set(4)
    for worker in (former, successor):
        worker.changes.close()
        await worker.logs.close()
