"""An operator, who cordons, drains and uncordons workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.simulation.clients import ask_any
from tests.simulation.worker import PORT, SimWorker, World

_VERBS = ("drain", "drain", "cordon", "uncordon", "uncordon")


class Operator:
    """One request after another, rarely."""

    def __init__(self, world: World, workers: Sequence[SimWorker]) -> None:
        self._world, self._workers, self._random = world, workers, world.choices.random("operator")
        self.drained = ""
        """The worker that stays without work at the end."""

    async def work(self, until: float) -> None:
        """Random requests until this time."""
        await asyncio.sleep(self._random.random() * 15)
        while self._world.loop.time() < until:
            self._random, carried_out = self._world.choices.next("operator")
            pause = self._random.random() * 10
            if carried_out:
                verb = _VERBS[int(self._random.random() * len(_VERBS))]
                self._world.trace.counts[f"{verb} acknowledged"] += await self._put(self._any(), verb)
            await asyncio.sleep(pause)

    async def end(self) -> None:
        """All workers accept work, or all but one. In some runs, a worker is started again meanwhile."""
        if self._random.random() < 0.4:
            worker = self._workers[int(self._random.random() * len(self._workers))]
            await asyncio.gather(worker.bounce(0.5), self._drain())
        else:
            await self._drain()

    async def _drain(self) -> None:
        for worker in self._workers:
            await self._certainly(worker.name, "uncordon")
        if self._random.random() < 0.3:
            self.drained = self._any()
            await self._certainly(self.drained, "drain")

    def _any(self) -> str:
        return self._workers[int(self._random.random() * len(self._workers))].name

    async def _put(self, worker: str, verb: str) -> bool:
        response = await ask_any(self._world, self._workers, "PUT", f"/workers/{worker}:{PORT}/{verb}")
        return response is not None and response.status == 202

    async def _certainly(self, worker: str, verb: str) -> None:
        for _ in range(40):
            if await self._put(worker, verb):
                return
            await asyncio.sleep(0.5)
        self._world.trace.violated(f"not live: {verb} of {worker} is not acknowledged after 40 attempts without faults")
