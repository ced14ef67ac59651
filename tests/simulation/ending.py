"""The end of a run: without faults everything must reach the state that was requested last, within a bounded time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.simulation.checks import Checks
from tests.simulation.clients import PARTS, Client, ask
from tests.simulation.faults import heal
from tests.simulation.model import Outcome
from tests.simulation.operator import Operator
from tests.simulation.remains import remains
from tests.simulation.worker import SimWorker, World

REQUESTS_END = 110.0
"""Seconds in which the requests between workers end that were under way at the last fault."""

MAX_QUIET_CALLBACKS = 400
"""For each worker, in a second in which nothing happens any more."""

SETTLED_WITHIN = 45.0
"""Seconds of liveness: from the last request to the state that it asks for, after the last fault."""


class Ending:
    """Brings each connector to a final state and checks that it gets there."""

    def __init__(
        self, world: World, workers: Sequence[SimWorker], clients: Sequence[Client], operator: Operator, checks: Checks
    ) -> None:
        self._world, self._workers, self._clients, self._checks = world, workers, clients, checks
        self._operator = operator
        self._random, self._trace = world.choices.random("ending"), world.trace
        self._wanted: dict[str, str] = {}

    async def work(self) -> None:
        heal(self._world, self._workers)
        if not await self._until(REQUESTS_END, self._requests_under_way):
            return
        await asyncio.gather(self._operator.end(), *(self._final(client) for client in self._clients))
        await self._until(SETTLED_WITHIN, self._unsettled)
        if not self._trace.violations:
            await self._progress()

    async def _requests_under_way(self) -> str | None:
        if self._world.web.under_way:
            return f"requests are under way: {sorted(self._world.web.under_way)}"
        for worker in self._workers:
            if not worker.running:  # it has ended by itself, for example because Kafka did not answer at its start
                worker.start()
            response = await ask(self._world, worker, "GET", "/health")
            if response is None or response.status != 200:
                return f"{worker.name} is not ready: {response.body[:200] if response else None!r}"
        return None

    async def _until(self, seconds: float, problem: Callable[[], Any]) -> bool:
        until = self._world.loop.time() + seconds
        while (found := await problem()) is not None:
            if self._world.loop.time() > until:
                self._trace.violated(f"not live: after {seconds:g} s without faults {found}")
                return False
            await asyncio.sleep(0.5)
        return True

    async def _final(self, client: Client) -> None:
        """Change the connector once more, or leave it as it is: a change would also repair what is stuck."""
        model, draw = client.model, self._random.random()
        state = "RUNNING" if draw < 0.5 else "PAUSED" if draw < 0.6 else "STOPPED" if draw < 0.75 else "deleted"
        if state == "PAUSED" and client.may_fail:  # a task that has failed with an earlier config stays FAILED
            state = "RUNNING"
        settles = client.stored.get("start", "0") != "raise" and not client.may_fail
        if (settles or not client.stored) and self._random.random() < 0.6:
            return
        self._wanted[model.name] = state
        await self._certainly(lambda: (client.create if model.config is None else client.configure)(start="0"))

        async def delete() -> Outcome:
            """404 after a deletion whose response was lost is no deletion that was acknowledged."""
            return Outcome.DONE if model.config is None else await client.delete()

        actions = {"RUNNING": client.resume, "PAUSED": client.pause, "STOPPED": client.stop, "deleted": delete}
        await asyncio.sleep(self._random.random() ** 2 * 2)
        await self._certainly(actions[state])

    def _wanted_of(self, client: Client) -> str:
        """The state that was requested last. For a connector that is left as it is, that may change until all requests
        have been carried out that clients received no response to."""
        model = client.model
        left = "deleted" if not client.stored else "RUNNING" if model.target in (None, "STARTED") else model.target
        return self._wanted.get(model.name, left)

    async def _certainly(self, action: Callable[[], Any]) -> None:
        """Repeat a request until it is acknowledged."""
        for _ in range(40):
            if await action() is Outcome.DONE:
                return
            await asyncio.sleep(0.5)
        self._trace.violated("not live: a request is not acknowledged after 40 attempts without faults")

    # the truth

    async def _unsettled(self) -> str | None:
        for client in self._clients:
            if (problem := await self._of(client)) is not None:
                return problem
        return None

    async def _of(self, client: Client) -> str | None:
        name, wanted = client.model.name, self._wanted_of(client)
        if client.stored.get("start") == "raise":  # the last of the requests without a response
            return None
        tasks = min(PARTS, int(client.stored["tasks.max"])) if wanted == "RUNNING" else 0
        if wanted == "PAUSED":  # a connector that has never been started has no tasks yet
            stored = self._workers[0].parts.configs.connector(name)  # type: ignore[union-attr]
            tasks = len(stored.tasks) if stored is not None else 0
            if tasks > int(
                client.stored["tasks.max"]
            ):  # of an earlier config: those that start are FAILED, as in Connect
                return None
        active = self._checks.active(name)
        if sorted(active) != list(range(tasks)):
            return f"{name} has the running tasks {active}, but should have {tasks} ({wanted})"
        if (drained := self._operator.drained) in active.values():
            return f"{drained} is drained, but runs tasks of {name}: {active}"
        for worker in self._workers:
            if (problem := await self._seen_by(worker, client, wanted, active)) is not None:
                return problem
        return remains(name, self._world.kafka, self._workers) if wanted == "deleted" else None

    async def _seen_by(self, worker: SimWorker, client: Client, wanted: str, active: dict[int, str]) -> str | None:
        name = client.model.name
        response = await ask(self._world, worker, "GET", f"/connectors/{name}/status")
        if response is None:
            return f"{worker.name} does not answer"
        if wanted == "deleted":
            gone = response.status == 404
            return None if gone else f"{name} is deleted, but {worker.name} shows {response.body!r}"
        if response.status != 200:
            return f"{worker.name} answers {response.status} {response.body!r} for {name}"
        found = json.loads(response.body)
        states = {t["id"]: (t["state"], t["worker_id"].partition(":")[0]) for t in found["tasks"]}
        expected = {task: (wanted, host) for task, host in active.items()}
        if found["connector"]["state"] != wanted or states != expected:
            return f"{worker.name} shows {found['connector']['state']} {states} of {name}, the truth is {expected}"
        config = await ask(self._world, worker, "GET", f"/connectors/{name}/config")
        version = json.loads(config.body).get("version") if config is not None else None
        return None if version == client.model.config else f"{worker.name} shows version {version} of {name}"

    async def _progress(self) -> None:
        """Running connectors read records, all others do not, and workers are not busy with anything else."""
        await asyncio.sleep(0.5)
        before, steps = dict(self._checks.records), self._world.loop.steps
        await asyncio.sleep(3.0)
        count = (self._world.loop.steps - steps) / 3 / len(self._workers)
        if count > MAX_QUIET_CALLBACKS:
            self._trace.violated(f"spins: {count:.0f} callbacks of a worker in a second, although nothing happens")
        for client in self._clients:
            name, wanted = client.model.name, self._wanted_of(client)
            read = self._checks.records.get(name, 0) - before.get(name, 0)
            runs = wanted == "RUNNING" and client.stored.get("start") != "raise"
            if runs != (read > 0):
                self._trace.violated(f"{name} is {wanted}, but reads {read} records in 3 s")
