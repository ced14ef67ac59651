"""What the simulated tasks do: exactly-once and at-least-once sources, and sinks, in the order of runtime.pipeline.

A source reads partitions that are numbered sequences: record `n` of partition `p` of connector `c` is (c, p, n). The
stored offset is the number of the next record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from runtime.kafka.formats import compact, offset_key
from tests.simulation.groups import Evicted
from tests.simulation.kafka import Fenced, Transaction
from tests.simulation.slot import HandedBack, TaskRun

CONFIRM_TIMEOUT = 60.0


async def run_task(run: TaskRun) -> None:
    """Run a task until it is stopped, revoked or fails."""
    if run.spec["type"] == "sink":
        await _Sink(run).run()
    elif run.spec["transactional_id"]:
        await ExactlyOnce(run).run()
    else:
        await _AtLeastOnce(run).run()


class _Task:
    def __init__(self, run: TaskRun) -> None:
        self._run, self._world = run, run.slot.world
        self._kafka, self._connector = run.slot.world.kafka, run.key[0]
        self._random = self._world.network.loop.random
        config = run.spec["config"]
        self._parts = [int(p) for p in config.get("parts", "").split(",") if p]
        self._topic = config.get("topic", "")
        self._version, self._fails = config.get("version", ""), config.get("fails") == "1"

    async def _ask(self, action: Any) -> Any:
        try:
            return await self._world.network.ask(self._run.host, action)
        except Fenced as e:
            raise HandedBack(f"fenced: {e}") from None

    async def _loop(self) -> None:
        run, paused = self._run, None
        while not run.stopping:
            if run.paused != paused:
                paused = run.paused
                run.state("PAUSED" if paused else "RUNNING")
            if paused:
                run.check()
                await run.pause(3600.0)
                continue
            run.check()
            if self._fails and self._random.random() < 0.1:
                raise RuntimeError("the system behind the connector refuses")
            await self._step()
            await run.pause(0.1 + self._random.random() * 1.1)

    async def _step(self) -> None: ...


_Copies = asyncio.Queue[Sequence[tuple[bytes, bytes]]]


class _Source(_Task):
    _copies: _Copies | None = None

    def _take_offsets(self, offsets: Sequence[dict[str, Any]]) -> None:
        found = {int(o["partition"]["p"]): int(o["offset"]["n"]) for o in offsets}
        keys = {int(o["partition"]["p"]): o["raw_key"].encode() for o in offsets}
        self._next = {p: found.get(p, 0) for p in self._parts}
        self._keys = {p: keys.get(p) or offset_key(self._connector, {"p": p}) for p in self._parts}

    def _batch(self) -> tuple[list[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]:
        """Records of one poll, and their offsets."""
        records = []
        for p in self._parts:
            for _ in range(1 + int(self._random.random() * 2)):
                value = {"c": self._connector, "p": p, "n": self._next[p], "v": self._version, "run": self._run.name}
                records.append((b"%d" % p, json.dumps(value).encode()))
                self._next[p] += 1
        return records, [(self._keys[p], compact({"n": self._next[p]})) for p in self._parts]

    def _copy(self, offsets: Sequence[tuple[bytes, bytes]]) -> None:
        """Offsets in the connector's own topic have a copy in the worker's (KIP-618). Nothing waits for it."""
        if self._run.spec["offsets_copy_topic"]:
            if self._copies is None:
                self._copies = asyncio.Queue()
                self._run.slot.process.spawn(self._send_copies(self._copies), "offsets copy")
            self._copies.put_nowait(offsets)

    async def _send_copies(self, copies: _Copies) -> None:
        while True:
            await self._ask(partial(self._kafka.append, self._run.spec["offsets_copy_topic"], await copies.get()))


class ExactlyOnce(_Source):
    """check, initTransactions, check again and read offsets, start (KIP-618)."""

    async def run(self) -> None:
        run, kafka, name = self._run, self._kafka, self._run.spec["transactional_id"]
        run.check()
        self._epoch = await self._ask(partial(kafka.init_producer, name))
        run.check()
        self._take_offsets(await self._confirmed())
        await self._loop()

    async def _confirmed(self) -> Sequence[dict[str, Any]]:
        run = self._run
        if run.stopping:
            raise HandedBack("stopped before its start was confirmed")
        run.confirmed = asyncio.get_running_loop().create_future()
        run.say("confirm_start", number=run.key[2])
        try:
            async with asyncio.timeout(CONFIRM_TIMEOUT):
                answer = await run.confirmed
        except TimeoutError:
            raise HandedBack("the worker does not confirm the start") from None
        if answer["error"] is not None:
            if answer["final"]:
                raise RuntimeError(answer["error"])
            raise HandedBack(answer["error"])
        offsets: Sequence[dict[str, Any]] = answer["offsets"]
        return offsets

    async def _step(self) -> None:
        run, kafka, name = self._run, self._kafka, self._run.spec["transactional_id"]
        records, offsets = self._batch()

        def begin() -> Transaction:  # with the first records, as clients do
            transaction = kafka.begin(name, self._epoch)
            kafka.append(self._topic, records, transaction)
            return transaction

        transaction: Transaction = await self._ask(begin)
        run.check()
        await self._ask(partial(kafka.append, run.spec["offsets_topic"], offsets, transaction))
        run.check()
        await self._ask(partial(kafka.commit, transaction))
        self._copy(offsets)


class _AtLeastOnce(_Source):
    """Offsets are committed after their records are acknowledged."""

    async def run(self) -> None:
        self._run.check()
        self._take_offsets(self._run.spec["offsets"])
        self._ready: list[tuple[bytes, bytes]] = []
        await self._loop()
        if self._ready:
            self._run.check()
            await self._commit()

    async def _step(self) -> None:
        self._run.check()
        records, offsets = self._batch()
        await self._ask(partial(self._kafka.append, self._topic, records))
        self._ready = offsets
        if self._random.random() < 0.5:
            self._run.check()
            await self._commit()

    async def _commit(self) -> None:
        ready, self._ready = self._ready, []
        await self._ask(partial(self._kafka.append, self._run.spec["offsets_topic"], ready))
        self._copy(ready)


class _Sink(_Task):
    """Consumes its partitions of the input topic, puts, and commits in the group connect-<name>."""

    async def run(self) -> None:
        run = self._run
        self._group = str(run.spec["consumer"]["group.id"])
        run.say("member", member_id=run.name)
        run.check()
        client_id = str(run.spec["consumer"]["client.id"])
        await self._ask(partial(self._world.groups.join, self._group, run.name, client_id))
        committed = await self._ask(lambda: dict(self._kafka.groups.get(self._group, {})))
        self._next = {p: committed.get((self._topic, p), 0) for p in self._parts}
        await self._loop()
        run.check()
        await self._commit()
        await self._ask(partial(self._world.groups.leave, self._group, run.name))

    async def _step(self) -> None:
        run = self._run
        run.check()
        for p in self._parts:
            count = 1 + int(self._random.random() * 3)
            self._world.checks.put(run, p, self._next[p], count)
            self._next[p] += count
        if self._random.random() < 0.5:
            await self._commit()

    async def _commit(self) -> None:
        positions = {(self._topic, p): n for p, n in self._next.items()}
        self._run.check()
        run = self._run

        def commit() -> None:
            self._world.groups.commit(self._group, run.name, positions)
            self._world.checks.sink_commit(run, positions)

        try:
            await self._ask(commit)
        except Evicted as e:
            raise HandedBack(f"evicted: {e}") from None
