"""The leader's part of a rebalance: computes assignments from the metadata of the members. No I/O, so any thread may
call it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from urllib.parse import urlsplit

import orjson

from runtime.herder.group.assignor import Decision, GroupWorker, Situation, Unit, assign
from runtime.herder.group.group import GroupSnapshot, GroupWorkerInfo, WorkerState
from runtime.kafka.group.protocol import Assignment, Work, WorkerMetadata, refusals
from runtime.system.process_identity import name_of

FOREIGN_CAPACITY = 2.0
"""Slots assumed for a member of another implementation, which does not report its capacity."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A worker's view of the storage topics: an immutable snapshot, replaced by the event loop.

    `weights` names every connector and task that should run, with its relative load. `previous` is the worker
    (host:port) that ran a unit last, `departed` the time (time.time()) at which a worker left. `foreign` names
    connectors whose plugin this implementation does not have: they are assigned to members of another implementation.
    `delay` is `scheduled.rebalance.max.delay.ms` in seconds. `awaited` are the workers of the last generation whose
    units wait for their return: those that are missing now have just left. `states` are the workers that operators have
    cordoned or drain. Without `mixed`, members of another implementation receive nothing."""

    config_offset: int = -1
    weights: Mapping[Unit, float] = field(default_factory=dict)
    previous: Mapping[Unit, str] = field(default_factory=dict)
    departed: Mapping[str, float] = field(default_factory=dict)
    foreign: Collection[str] = ()
    delay: float = 300.0
    awaited: frozenset[str] = frozenset()
    states: Mapping[str, WorkerState] = field(default_factory=dict)
    mixed: bool = True


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The result of a rebalance: assignments by member id, and the group after all members have applied them; None if
    nothing could be assigned."""

    assignments: Mapping[str, Assignment]
    snapshot: GroupSnapshot | None = None


def lead(leader_id: str, members: Mapping[str, WorkerMetadata], view: GroupView) -> Rebalance:
    """Computes the assignments. If a member has read more of the config topic than the leader, nothing is assigned:
    all members read up to the same record and join again."""
    leader_url = members[leader_id].url
    newest = newest_offset(members)
    if newest > view.config_offset:
        return refusal(leader_id, members)
    situation = _situation(members, view)
    decision = assign(situation)
    delay = 0 if decision.next_rebalance is None else max(1, ceil(decision.next_rebalance * 1000))
    assignments = {
        name: Assignment(
            leader_id,
            leader_url,
            view.config_offset,
            _work(decision.assigned.get(name, ())),
            _work(decision.revoked.get(name, ())),
            delay,
        )
        for name in members
    }
    workers = [
        _info(
            name, metadata, view, _units_after(situation.running[name], decision, name), decision.revoked.get(name, ())
        )
        for name, metadata in members.items()
    ]
    until = dict.fromkeys(decision.waiting, situation.now + (decision.next_rebalance or 0.0))
    after = GroupSnapshot(
        leader=worker_id(leader_url), workers=workers, waiting=until, unassignable=decision.unassignable
    )
    return Rebalance(assignments, after)


def refusal(leader_id: str, members: Mapping[str, WorkerMetadata]) -> Rebalance:
    """Nothing is assigned: all members read the config topic to the newest record that any of them has read, keep
    their work, and join again."""
    return Rebalance(refusals(leader_id, members, members))


def newest_offset(members: Mapping[str, WorkerMetadata]) -> int:
    """The highest offset of the config topic that any member has read."""
    return max(metadata.config_offset for metadata in members.values())


def shared_urls(members: Mapping[str, WorkerMetadata]) -> Mapping[str, Sequence[str]]:
    """REST URLs that more than one process advertises, with the names of the processes: requests to these workers reach
    only one of them. All members have just joined, so none of them is an earlier process of the same worker."""
    names_by_url: dict[str, dict[str, str]] = defaultdict(dict)
    for name, metadata in members.items():
        process = metadata.details.process if metadata.details else {}
        key = orjson.dumps(dict(process), option=orjson.OPT_SORT_KEYS).decode() if process else name
        names_by_url[metadata.url][key] = name_of(process) or f"member {name}"
    return {url: sorted(names.values()) for url, names in names_by_url.items() if len(names) > 1}


def worker_id(url: str) -> str:
    """A worker's name in statuses: host:port of its REST API. The text itself if it is not a URL: members may advertise
    anything."""
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url


def describe_members(members: Mapping[str, WorkerMetadata], leader: str) -> GroupSnapshot:
    """The group as its members described themselves when they joined; `leader` is the leader's worker id."""
    view = GroupView()
    workers = [_info(name, metadata, view, frozenset(_claims(metadata))) for name, metadata in members.items()]
    return GroupSnapshot(leader=leader, workers=workers)


def _situation(members: Mapping[str, WorkerMetadata], view: GroupView) -> Situation:
    ready = any(metadata.details is None or metadata.details.slots for metadata in members.values())
    foreign = frozenset(name for name, metadata in members.items() if metadata.details is None)
    now = time.time()
    present = {worker_id(metadata.url) for metadata in members.values()}
    departed = {**dict.fromkeys(view.awaited - present, now), **view.departed}
    return Situation(
        [_member(name, metadata, view, ready) for name, metadata in members.items()],
        _weights(members, view),
        {name: list(_claims(metadata)) for name, metadata in members.items()},
        view.previous,
        departed,
        dict.fromkeys(view.foreign, foreign),
        now,
        view.delay,
    )


def _weights(members: Mapping[str, WorkerMetadata], view: GroupView) -> Mapping[Unit, float]:
    """The weights of the view, with the loads that the members have measured."""
    weights = dict(view.weights)
    for metadata in members.values():
        for connector, tasks in (metadata.details.loads if metadata.details else {}).items():
            for task, cores in tasks.items():
                unit = Unit(connector, int(task))
                if unit in weights:
                    weights[unit] += cores
    return weights


def _member(name: str, metadata: WorkerMetadata, view: GroupView, ready: bool) -> GroupWorker:
    """`ready`: a worker has slots, so that workers whose slots have not started yet receive nothing."""
    details, state = metadata.details, _state(metadata, view)
    draining = state is WorkerState.DRAINING
    starting = ready and details is not None and not details.slots
    cordoned = state in (WorkerState.CORDONED, WorkerState.FOREIGN)
    capacity = FOREIGN_CAPACITY if details is None else float(max(details.slots, 1))
    return GroupWorker(name, worker_id(metadata.url), capacity, cordoned, draining, starting)


def _state(metadata: WorkerMetadata, view: GroupView) -> WorkerState:
    details = metadata.details
    if details is None and not view.mixed:
        return WorkerState.FOREIGN
    if details is not None and details.draining:
        return WorkerState.DRAINING
    return view.states.get(worker_id(metadata.url), WorkerState.ACTIVE)


def _info(
    name: str, metadata: WorkerMetadata, view: GroupView, units: frozenset[Unit], revoked: Iterable[Unit] = ()
) -> GroupWorkerInfo:
    details, state, stopping = metadata.details, _state(metadata, view), frozenset(revoked)
    if details is None:
        return GroupWorkerInfo(
            worker_id(metadata.url), metadata.url, name, units, "connect", state=state, stopping=stopping
        )
    return GroupWorkerInfo(
        worker_id(metadata.url), metadata.url, name, units, "headrace", details.version, details.slots, details.load,
        time.time(), state, details.process, details.elsewhere, stopping,
    )  # fmt: skip


def _units_after(claimed: Collection[Unit], decision: Decision, name: str) -> frozenset[Unit]:
    return frozenset({*claimed, *decision.assigned.get(name, ())} - {*decision.revoked.get(name, ())})


def _claims(metadata: WorkerMetadata) -> Iterable[Unit]:
    if metadata.allocation is not None:
        for connector, tasks in metadata.allocation.assigned.items():
            for task in tasks:
                yield Unit(connector, task)


def _work(units: Iterable[Unit]) -> Work:
    tasks_of: dict[str, list[int]] = defaultdict(list)
    for unit in sorted(units):
        tasks_of[unit.connector].append(unit.task)
    return {connector: tuple(tasks) for connector, tasks in tasks_of.items()}
