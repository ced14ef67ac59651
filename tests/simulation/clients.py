"""Clients that create, change and delete connectors, one request after another for each connector."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any

from tests.simulation.http import Disconnected, Refused, Response
from tests.simulation.model import Change, Connector, Outcome
from tests.simulation.network import CLIENT
from tests.simulation.worker import PORT, SimWorker, World

TIMEOUT = 25.0
PARTS = 3
_UNSET = "unset"


class Client:
    """The requests for one connector. Other clients never touch it."""

    def __init__(self, model: Connector, kind: str, world: World, workers: Sequence[SimWorker]) -> None:
        self.model, self.kind, self._world, self._workers = model, kind, world, workers
        self._random, self._versions = world.choices.random(model.name), itertools.count(1)
        self._sent: dict[str, dict[str, str]] = {}  # configurations by version
        self._own: dict[str, str] = {}
        self.may_fail = False
        """Whether tasks of the connector may have failed: `fails` was in its configuration."""
        if kind == "Source" and self._random.random() < 0.3:  # in each configuration: later ones have a copy only
            self._own = {"offsets.storage.topic": f"offsets-{model.name}"}

    async def work(self, until: float) -> None:
        """Random requests until this time."""
        await asyncio.sleep(self._random.random() * 2)
        while self._world.loop.time() < until:
            self._random, carried_out = self._world.choices.next(self.model.name)
            pause = self._random.random() ** 2 * 3
            if carried_out:
                await self._something()
            await asyncio.sleep(pause)

    async def _something(self) -> None:
        if self.model.config is None:
            await self.create()
            return
        choices = [
            (5, self.configure), (2, self.pause), (2, self.resume), (2, self.stop), (2, self.restart),
            (2, self.alter), (1, self.reset), (2, self.delete), (1, self.delete_with_offsets), (1, self.restart_task),
            (1, self.recreate), (3, self.reconfigure), (1, self.patch),
        ]  # fmt: skip
        draw = self._random.random() * sum(weight for weight, _ in choices)
        for weight, action in choices:
            draw -= weight
            if draw < 0:
                await action()
                return

    # requests

    def config(self, **more: str) -> dict[str, str]:
        name, version = self.model.name, str(next(self._versions))
        found = self._sent[version] = {
            "connector.class": self.kind, "parts": str(PARTS), "tasks.max": str(1 + int(self._random.random() * PARTS)),
            "topic": f"data-{name}" if self.kind == "Source" else "input", "version": version,
            "shift": str(int(self._random.random() * PARTS)),
            **({} if self.kind == "Source" else {"topics": "input"}), **self._own, **more,
        }  # fmt: skip
        return found

    @property
    def stored(self) -> dict[str, str]:
        """The configuration in the config topic; empty without a connector."""
        return self._sent[self.model.config] if self.model.config is not None else {}

    def _sometimes_odd(self, share: float = 0.16) -> dict[str, str]:
        """The configuration of a connector whose start() fails or takes long, or whose tasks fail."""
        draw = self._random.random()
        if draw > 0.93:
            self.may_fail = True
            return {"fails": "1"}
        return {"start": "raise"} if draw < share / 2 else {"start": "2.5"} if draw < share else {}

    async def create(self, **more: str) -> Outcome:
        config = self.config(**(more or self._sometimes_odd(0.5 if self.model.created else 0.16)))
        body: dict[str, Any] = {"name": self.model.name, "config": config}
        change, state = None, _UNSET
        if not more and self._random.random() < 0.25:
            change = self._positions(everything=True)
            body["initial_offsets"] = self._entries(change.positions)
        if not more and self._random.random() < 0.2:
            state = "STOPPED" if self._random.random() < 0.5 else "PAUSED"
            body["initial_state"] = state
        return await self.send("POST", "/connectors", body, config=config["version"], state=state, change=change)

    async def configure(self, **more: str) -> Outcome:
        config = self.config(**(more or self._sometimes_odd()))
        return await self.send("PUT", f"{self._path}/config", config, config=config["version"])

    async def patch(self) -> Outcome:
        """With all keys in which configurations differ, since it is not certain which one is changed."""
        config = self.config(**{"start": "0", "fails": "0", **self._sometimes_odd()})
        changed = {key: config[key] for key in ("tasks.max", "version", "shift", "start", "fails")}
        return await self.send("PATCH", f"{self._path}/config", changed, config=config["version"])

    async def reconfigure(self) -> None:
        """Another change while tasks with the last one are starting."""
        if await self.configure() is Outcome.DONE:
            await asyncio.sleep(self._random.random() * 2)
            await self.configure()

    async def delete(self) -> Outcome:
        return await self.send("DELETE", self._path, config=None)

    async def recreate(self) -> None:
        if await self.delete() is Outcome.DONE:
            await self.create()

    async def delete_with_offsets(self) -> Outcome:
        """Stops the connector first, and restores its target state if it is not deleted."""
        for state in {**self.model.targets_under_way, self.model.target: Outcome.UNKNOWN}:
            self.model.targets_under_way[state or "STARTED"] = Outcome.UNKNOWN
        change = Change({}, everything=True)
        return await self.send("DELETE", f"{self._path}?offsets=true", config=None, state="STOPPED", change=change)

    async def pause(self) -> Outcome:
        return await self.send("PUT", f"{self._path}/pause", state="PAUSED")

    async def resume(self) -> Outcome:
        return await self.send("PUT", f"{self._path}/resume", state="STARTED")

    async def stop(self) -> Outcome:
        return await self.send("PUT", f"{self._path}/stop", state="STOPPED")

    async def restart(self) -> Outcome:
        tasks, failed = (self._random.random() < 0.5 for _ in range(2))
        query = f"?includeTasks={str(tasks).lower()}&onlyFailed={str(failed).lower()}"
        return await self.send("POST", f"{self._path}/restart{query}")

    async def restart_task(self) -> Outcome:
        return await self.send("POST", f"{self._path}/tasks/{int(self._random.random() * PARTS)}/restart")

    async def alter(self) -> None:
        if await self.stop() is not Outcome.DONE:
            return
        change = self._positions()
        await self.send("PATCH", f"{self._path}/offsets", {"offsets": self._entries(change.positions)}, change=change)
        if self._random.random() < 0.8:
            await self.resume()

    async def reset(self) -> None:
        if await self.stop() is not Outcome.DONE:
            return
        await self.send("DELETE", f"{self._path}/offsets", change=Change({}, everything=True))
        if self._random.random() < 0.8:
            await self.resume()

    def _positions(self, everything: bool = False) -> Change:
        parts = range(PARTS) if self._random.random() < 0.6 else [int(self._random.random() * PARTS)]
        return Change({p: int(self._random.random() * 200) for p in parts}, everything)

    def _entries(self, positions: Any) -> list[dict[str, Any]]:
        if self.kind == "Source":
            return [{"partition": {"p": p}, "offset": {"n": n}} for p, n in positions.items()]
        return [
            {"partition": {"kafka_topic": "input", "kafka_partition": p}, "offset": {"kafka_offset": n}}
            for p, n in positions.items()
        ]

    @property
    def _path(self) -> str:
        return f"/connectors/{self.model.name}"

    # sending

    async def send(
        self, method: str, target: str, body: Any = None, config: str | None = _UNSET, state: str = _UNSET,
        change: Change | None = None,
    ) -> Outcome:  # fmt: skip
        """Send a request to a random worker, and note what may follow from it, and what has to."""
        model = self.model
        if config != _UNSET:
            _begin(model.configs_under_way, config)
        if state != _UNSET:
            _begin(model.targets_under_way, state)
        if change is not None:
            model.positions.begin(change)
        model.written.clear()
        response = await self._response(method, target, body)
        outcome = _outcome(response)
        changing = change is not None or config != _UNSET or state != _UNSET
        self._note(outcome, config, state, change, f"{method} {target}", changing)
        self._count(method, target, body, outcome)
        if response is None and self._random.random() < 0.3:  # as scripts do
            self._world.trace.counts["request repeated by its client"] += 1
            again = None if change is None else Change(change.positions, change.everything)
            return await self.send(method, target, body, config, state, again)
        return outcome

    def _count(self, method: str, target: str, body: Any, outcome: Outcome) -> None:
        path = target.removeprefix(self._path).partition("?")[0].strip("/")
        what = "task restart" if path.startswith("tasks/") else path
        more = [key for key in ("initial_offsets", "initial_state") if body and key in body]
        name = " ".join([method, what or "connector", *more])
        self._world.trace.counts[f"{name}: acknowledged" if outcome is Outcome.DONE else f"request {outcome.name}"] += 1

    def _note(
        self, outcome: Outcome, config: Any, state: str, change: Change | None, what: str, changing: bool
    ) -> None:
        model = self.model
        if change is not None and not model.positions.end(change, outcome):
            self._world.trace.violated(f"{what} is refused, but has been carried out")
        if change is not None and outcome is not Outcome.REFUSED:
            model.outdated = model.latest_run
        if outcome is Outcome.DONE and changing:
            model.positions.settle()
            if config != _UNSET and config not in model.written:
                self._world.trace.violated(f"{what} is acknowledged, but nothing was written")
        if outcome is not Outcome.UNKNOWN:
            for under_way, value in ((model.configs_under_way, config), (model.targets_under_way, state)):
                if under_way.get(value) is Outcome.PENDING:
                    del under_way[value]
        else:
            for under_way, value in ((model.configs_under_way, config), (model.targets_under_way, state)):
                if value in under_way:
                    under_way[value] = Outcome.UNKNOWN

    async def _response(self, method: str, target: str, body: Any) -> Response | None:
        return await ask_any(self._world, self._workers, method, target, body)


async def ask_any(
    world: World, workers: Sequence[SimWorker], method: str, target: str, body: Any = None
) -> Response | None:  # fmt: skip
    """As ask(), of a random worker."""
    random = world.loop.random
    alive = [worker for worker in workers if worker.running] or workers[:1]
    if random.random() < 0.7:  # as behind a load balancer, which checks the workers
        alive = [worker for worker in alive if not worker.frozen] or alive
    worker = alive[int(random.random() * len(alive))]
    response = await ask(world, worker, method, target, body)
    shown = f"{response.status} {response.body[:110]!r}" if response is not None else "no response"
    detail = "" if body is None else f" {json.dumps(body)[:160]}"
    world.trace.add(f"{worker.name}: {method} {target}{detail} -> {shown}")
    return response


def _begin(under_way: dict[str | None, Outcome], value: str | None) -> None:
    """An equal request whose outcome is unknown may still be carried out after this one."""
    under_way.setdefault(value, Outcome.PENDING)


async def ask(world: World, worker: SimWorker, method: str, target: str, body: Any = None) -> Response | None:
    """The response of a worker; None if there is none, or if it is unknown whether the request was carried out."""
    address = f"{worker.name}:{PORT}"
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Host": address, "Accept": "application/json"}
    try:
        async with asyncio.timeout(TIMEOUT):
            return await world.web.send(CLIENT, address, method, target, headers, data)
    except Refused:
        return Response(409, [], b"refused")
    except (Disconnected, TimeoutError):
        return None


def _outcome(response: Response | None) -> Outcome:
    if response is None or response.status >= 500:
        return Outcome.UNKNOWN
    return Outcome.DONE if response.status < 300 else Outcome.REFUSED
