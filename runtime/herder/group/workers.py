"""The workers of the group: the answer to GET /workers, and cordoning and draining."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import runtime
from runtime.engine.port import SlotInfo
from runtime.herder.errors import Conflict, NotFound
from runtime.herder.group.assignor import Unit
from runtime.herder.group.group import Group, GroupSnapshot, GroupWorkerInfo, WorkerState
from runtime.herder.responses import GroupWorkerResponse, OwnWorkerResponse, TaskIdResponse, WorkersResponse
from runtime.kafka.group.protocol import CONNECTOR
from runtime.storage.configs import ConfigStore
from runtime.storage.documents import Documents

# Cordoned and draining workers, as documents in the journal topic: every worker reads them, the leader writes them.
#
# A document belongs to a worker id, not to a membership: it survives restarts of that worker and of the leader.
_PREFIX = "worker:"
_STATES = (WorkerState.CORDONED, WorkerState.DRAINING)


class Cordons:
    """Event loop only. A change takes effect with the next rebalance, which the caller requests."""

    def __init__(self, documents: Documents, clock: Callable[[], float] = time.time) -> None:
        self._documents, self._clock = documents, clock

    def states(self) -> Mapping[str, WorkerState]:
        """The state of each worker id that is cordoned or draining."""
        states = {}
        for key in self._documents.keys(_PREFIX):
            state = (self._documents.get(key) or {}).get("state")
            if state in _STATES:
                states[key.removeprefix(_PREFIX)] = WorkerState(state)
        return states

    async def put(self, worker_id: str, state: WorkerState, who: str) -> None:
        """Store that a worker is CORDONED or DRAINING. `who` is the user who requested it."""
        document = {"state": state.value, "since": int(self._clock() * 1000), "who": who}
        await self._documents.put(_PREFIX + worker_id, document)

    async def remove(self, worker_ids: Collection[str]) -> None:
        """Let these workers receive connectors and tasks again."""
        await self._documents.remove(*(_PREFIX + worker_id for worker_id in worker_ids))


_log = logging.getLogger(__name__)

_OTHER: OwnWorkerResponse = {"here": False, "slots_without_core": None, "memory": None, "java_memory": None}

_STANDALONE = "This worker is standalone: it has no group with other workers that could run its connectors"


class Workers:
    """Answers requests about the workers of the group; only the leader changes their states. Event loop only."""

    def __init__(
        self, group: Group, cordons: Cordons, configs: ConfigStore, slots: int,
        load: Callable[[], float] = lambda: 0.0, clock: Callable[[], float] = time.time,
        running: Callable[[], Sequence[SlotInfo]] = tuple, without_core: Callable[[], Sequence[int]] = tuple,
    ) -> None:  # fmt: skip
        """`slots` is the number of slots of this worker, for a standalone worker's own response; `load` returns its
        present load, `running` its slots that are up, `without_core` those that wait for a core."""
        self._group, self._cordons, self._configs, self._slots = group, cordons, configs, slots
        self._load, self._clock, self._running, self._without_core = load, clock, running, without_core

    def view(self) -> WorkersResponse:
        """GET /workers: complete at the leader, elsewhere as of the last rebalance."""
        snapshot = self._snapshot()
        return {
            "group_id": snapshot.group_id,
            "generation": snapshot.generation,
            "leader": snapshot.leader,
            "rebalancing": snapshot.rebalancing,
            "workers": [
                self._response(worker, snapshot.leader)
                for worker in sorted(snapshot.workers, key=lambda worker: worker.worker_id)
            ],
            "waiting": [
                {"connector": unit.connector, "task": unit.task, "until": int(until * 1000)}
                for unit, until in sorted(snapshot.waiting.items())
            ],
        }

    def seen_from_here(self, response: WorkersResponse) -> WorkersResponse:
        """The response of another worker, with `here` of this one, and its present load."""
        return {**response, "workers": [self._with_here(worker) for worker in response["workers"]]}

    def _with_here(self, worker: GroupWorkerResponse) -> GroupWorkerResponse:
        if worker["worker_id"] != self._group.worker_id:
            return {**worker, "here": False}
        load, load_at = round(self._load(), 2), int(self._clock() * 1000)
        return {**worker, **self._own(), "load": load, "load_at": load_at}

    def _own(self) -> OwnWorkerResponse:
        slots = self._running()
        return {
            "here": True,
            "slots_without_core": list(self._without_core()),
            "memory": sum(slot.memory for slot in slots),
            "java_memory": sum(slot.java_memory for slot in slots),
        }

    async def cordon(self, worker_id: str, who: str) -> None:
        """The worker keeps its connectors and tasks, and receives no others."""
        self._check_known(worker_id)
        await self._put(worker_id, WorkerState.CORDONED, who)

    async def drain(self, worker_id: str, who: str) -> None:
        """The worker's connectors and tasks move to other workers. Conflict if no other worker accepts them."""
        self._check_known(worker_id)
        states = {w.worker_id: w.state for w in self._snapshot().workers}
        if WorkerState.ACTIVE not in (state for name, state in states.items() if name != worker_id):
            others = [f"{name} is {state}" for name, state in sorted(states.items()) if name != worker_id]
            raise Conflict(
                f"Worker {worker_id} cannot be drained: no other worker accepts its connectors and tasks "
                f"({', '.join(others) or 'there is no other worker'})"
            )
        await self._put(worker_id, WorkerState.DRAINING, who)

    async def uncordon(self, worker_id: str, who: str) -> None:
        """The worker receives connectors and tasks again. Also for a cordoned worker that is not in the group."""
        if worker_id not in self._cordons.states():
            self._check_known(worker_id)
        self._check_leads()
        await self._cordons.remove([worker_id])
        self._changed(worker_id, WorkerState.ACTIVE, who)

    async def _put(self, worker_id: str, state: WorkerState, who: str) -> None:
        self._check_leads()
        await self._cordons.put(worker_id, state, who)
        self._changed(worker_id, state, who)

    def _changed(self, worker_id: str, state: WorkerState, who: str) -> None:
        _log.info("Worker %s is %s, as requested by %s", worker_id, state, who or "an unknown user")
        self._group.rejoin()

    def _check_known(self, worker_id: str) -> None:
        """Raises Conflict for a standalone worker, NotFound if the group has no such worker."""
        snapshot = self._group.snapshot
        if not snapshot.group_id:
            raise Conflict(_STANDALONE)
        known = sorted(worker.worker_id for worker in snapshot.workers)
        if worker_id not in known:
            raise NotFound(f"Worker {worker_id} is not in the group; its workers are {', '.join(known) or 'not known'}")

    def _check_leads(self) -> None:
        if not self._group.snapshot.group_id:
            raise Conflict(_STANDALONE)
        if not self._group.leads:
            raise Conflict("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")

    def _snapshot(self) -> GroupSnapshot:
        """The group with the stored states, which may be newer than the last rebalance. A standalone worker runs
        everything."""
        snapshot = self._group.snapshot
        if not snapshot.group_id:
            return replace(snapshot, workers=[self._alone(worker) for worker in snapshot.workers])
        stored = self._cordons.states()
        return replace(
            snapshot, workers=[_with_state(worker, stored.get(worker.worker_id)) for worker in snapshot.workers]
        )

    def _alone(self, worker: GroupWorkerInfo) -> GroupWorkerInfo:
        units = set()
        for name in self._configs.names():
            stored = self._configs.connector(name)
            tasks = len(stored.tasks) if stored is not None else 0
            units |= {Unit(name, task) for task in (CONNECTOR, *range(tasks))}
        return replace(worker, units=frozenset(units), version=runtime.__version__, slots=self._slots)

    def _response(self, worker: GroupWorkerInfo, leader: str) -> GroupWorkerResponse:
        units = sorted(worker.units)
        return self._with_here({
            "worker_id": worker.worker_id,
            "url": worker.url,
            "leader": worker.worker_id == leader,
            "implementation": worker.implementation,
            "version": worker.version,
            "slots": worker.slots,
            "load": round(worker.load, 2),
            "load_at": int(worker.load_at * 1000),
            "state": worker.state.value,
            "connectors": [unit.connector for unit in units if unit.task == CONNECTOR],
            "tasks": [_task(unit) for unit in units if unit.task != CONNECTOR],
            **_OTHER,
        })  # fmt: skip


def _task(unit: Unit) -> TaskIdResponse:
    return {"connector": unit.connector, "task": unit.task}


def _with_state(worker: GroupWorkerInfo, stored: WorkerState | None) -> GroupWorkerInfo:
    """FOREIGN is not stored, and stays."""
    if stored is not None:
        return replace(worker, state=stored)
    is_cordoned = worker.state in (WorkerState.CORDONED, WorkerState.DRAINING)
    return replace(worker, state=WorkerState.ACTIVE) if is_cordoned else worker
