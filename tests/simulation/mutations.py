"""Faults put into the program, each of which the simulation must find. They replace functions at run time, so that the
program itself needs no switches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runtime.engine.placement import slot_link
from runtime.engine.worker import lease_granter
from runtime.herder import group_duties
from runtime.herder.control import connector_loop, connectors, hosted_connector, tasks
from runtime.herder.control.start_control import StartControl, StartTimes
from runtime.herder.fencing import zombie_fencing
from runtime.herder.group import assignor, worker_group
from runtime.herder.group.worker_group import WorkerGroup
from runtime.herder.offsets import offset_change, settling
from runtime.kafka.group import ownership
from runtime.kafka.group.protocol import Assignment
from runtime.model.states import TaskId
from runtime.storage import configs, offsets, optimistic, statuses
from tests.simulation.tasks import ExactlyOnce

MUTATIONS: dict[str, Callable[[], None]] = {}


def _mutation(apply: Callable[[], None]) -> Callable[[], None]:
    MUTATIONS[apply.__name__] = apply
    return apply


_background: list[Any] = []


def _in_background(work: Any) -> None:
    _background.append(asyncio.ensure_future(work))


def _replace(owner: Any, name: str, function: Any) -> None:
    setattr(owner, name, function)


async def _nothing(*_: Any, **__: Any) -> None:
    return


@_mutation
def start_without_confirmation() -> None:
    """An exactly-once task starts without another check after its producer was registered (KIP-618), with the offsets
    that were read before."""
    prepare = tasks.Tasks._prepare

    async def prepared(self: Any, order: Any, numbers: Any) -> Any:
        await prepare(self, order, numbers)
        return [] if order.info.type == "sink" else await self._offsets()

    async def confirmed(self: Any) -> Any:
        return self._run.spec["offsets"]

    _replace(tasks.Tasks, "_prepare", prepared)
    _replace(ExactlyOnce, "_confirmed", confirmed)


@_mutation
def task_configs_of_deleted_connectors() -> None:
    """Task configs without a connector apply to the next connector of their name (KAFKA-16838)."""

    def take(self: Any, name: str, value: Any) -> str:
        entry = self._entry(name)
        if value is None:
            self._entries[name] = configs._Entry(target=entry.target)
        else:
            entry.config = configs._properties(value)
        return name

    handlers = dict(configs.ConfigStore._HANDLERS)
    handlers["connector-"] = take
    _replace(configs.ConfigStore, "_HANDLERS", handlers)
    _replace(configs.ConfigStore, "remove_remains", _nothing)


@_mutation
def leases_without_membership() -> None:
    """Leases are granted although the membership is not confirmed."""

    def renew(self: Any) -> None:
        with self._lock:
            for cell in self._cells:
                cell.grant(self._clock() + self._longest)

    _replace(lease_granter.LeaseGranter, "renew", renew)
    _replace(lease_granter.LeaseGranter, "revoke_granted", lambda self: None)


@_mutation
def offsets_before_open_transactions() -> None:
    """Offsets are read without those behind and in open transactions."""

    async def read(self: Any, name: Any = None, within: Any = None) -> None:
        await self._log.read_to_end()

    _replace(offsets.OffsetStore, "read_to_end", read)


@_mutation
def earlier_tasks_are_not_fenced() -> None:
    """The leader's round of fencing writes its record without fencing."""
    _replace(zombie_fencing.ZombieFencing, "_fence", _nothing)


@_mutation
def former_leaders_write() -> None:
    """A leader writes without a check of its leadership, and without its transactional id."""

    async def lead(self: Any, records: Any) -> None:
        await self._log.write_all(records)

    _replace(configs.ConfigStore, "_lead", lead)


@_mutation
def revoked_units_are_not_claimed() -> None:
    """A worker does not claim units that are still stopping."""

    def allocation(self: Any, version: int) -> Any:
        self._claimed = True
        last = self._last
        if last is None:
            return None
        units = ownership._work(self._owned)
        return Assignment(last.leader, last.leader_url, last.config_offset, units, version=version)

    _replace(ownership.Ownership, "allocation", allocation)


@_mutation
def units_move_in_one_generation() -> None:
    """The assignor gives a revoked unit to its next owner at once."""
    before = assignor._Assignment._revoke

    def revoke(self: Any, name: str, unit: Any) -> None:
        before(self, name, unit)
        others = [m.member_id for m in self._accepting if m.member_id != name]
        if others:
            self._give(min(others, key=self._loads[assignor._kind(unit)].__getitem__), unit)

    _replace(assignor._Assignment, "_revoke", revoke)


@_mutation
def tasks_are_not_awaited() -> None:
    """Tasks count as ended as soon as they are asked to stop."""

    async def stop(self: Any, stopped: set[int]) -> None:
        for i in stopped:
            _in_background(self._services.engine.stop_task(TaskId(self._name, i), 5.0))
            self._running.pop(i, None)
        await asyncio.sleep(0)

    _replace(tasks.Tasks, "_stop", stop)


@_mutation
def replaced_workers_report() -> None:
    """A replaced worker overwrites the statuses of its successor."""
    _replace(statuses, "_superseded", lambda status, stored: False)


@_mutation
def own_writes_lose_their_order() -> None:
    """A record that is read replaces an own, later write."""
    _replace(optimistic.OptimisticWrites, "superseded", lambda self, record: False)


@_mutation
def assignments_before_their_configs() -> None:
    """A worker applies an assignment before it has read the config topic up to it."""
    _replace(worker_group, "RETRY_DELAY", 0.0)
    before = WorkerGroup._enter

    async def enter(self: Any, place: Any) -> None:
        await before(self, replace(place, config_offset=-1) if place is not self._newest else place)

    _replace(WorkerGroup, "_enter", enter)


@_mutation
def offsets_change_under_tasks() -> None:
    """Offsets change although tasks of the connector have not ended."""
    _replace(settling.GroupSettling, "unsettled", _nothing)


@_mutation
def failed_steps_are_not_repeated() -> None:
    """A control loop gives up after an error."""
    _replace(connector_loop.ConnectorLoop, "_run", _without_retry(connector_loop.ConnectorLoop._run))


def _without_retry(run: Any) -> Any:
    async def once(self: Any) -> None:
        original = self._step

        async def step(requested: Any) -> None:
            try:
                await original(requested)
            except tasks.NoLeaseError:
                raise
            except Exception:
                return

        self._step = step
        await run(self)

    return once


@_mutation
def regained_leases_are_not_noticed() -> None:
    """Connectors that waited for the lease are not woken."""
    _replace(connectors.Connectors, "lease_changed", lambda self, held: None)


@_mutation
def stopped_units_are_not_released() -> None:
    """Units that have stopped are never given to others."""
    _replace(ownership.Ownership, "release", lambda self, units: None)


@_mutation
def lost_tasks_are_forgotten() -> None:
    """The herder ignores the loss of a slot."""
    _replace(connectors.Connectors, "task_lost", lambda self, *args: None)


@_mutation
def changes_are_not_finished() -> None:
    """A new leader does not finish the changes of offsets of the last one."""

    async def finish(self: Any) -> bool:
        return True

    _replace(offset_change.OffsetChanges, "finish", finish)


@_mutation
def steps_are_repeated_at_once() -> None:
    """A failed step is repeated without a delay."""
    _replace(connector_loop, "MAX_RETRY_DELAY", 0.0)
    before = StartControl.__init__

    def init(self: Any, crashes: Any = None, times: Any = None) -> None:
        before(self, crashes, StartTimes(retry_delay=0.0))

    _replace(StartControl, "__init__", init)


@_mutation
def deleted_connectors_keep_running() -> None:
    """The control loop of a deleted connector ends without stopping its tasks."""

    async def remove(self: Any) -> None:
        self._release()
        self._end()

    _replace(connector_loop.ConnectorLoop, "_remove", remove)


@_mutation
def statuses_without_owners_stay() -> None:
    """Only a new leader removes the statuses of connectors that nobody owned when they were deleted."""
    _replace(group_duties.GroupDuties, "_clean", lambda self: None)


@_mutation
def interrupted_stops_cost_the_tasks() -> None:
    """The task configs that an interrupted stop has removed are not generated again."""
    _replace(hosted_connector.HostedConnector, "_generate_again", lambda self, instance: None)


@_mutation
def members_are_read_without_notice() -> None:
    """A worker does not look at the statuses again when it has read which units the others run."""
    _replace(group_duties.GroupDuties, "members_read", lambda self: None)


@_mutation
def unacknowledged_writes() -> None:
    """A change is answered before it is in the config topic."""

    async def lead(self: Any, records: Any) -> None:
        self._check()
        _in_background(_quietly(self._log.write_all(records, self._leader)))

    _replace(configs.ConfigStore, "_lead", lead)


async def _quietly(work: Any) -> None:
    try:
        await work
    except Exception:
        return


@_mutation
def former_runs_are_not_revoked() -> None:
    """A task is placed again although its slot still runs it."""
    _replace(slot_link.SlotLink, "lapsed", lambda self, now: False)
