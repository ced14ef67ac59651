"""The leader's part of a rebalance: computes assignments from the metadata of the members. No I/O, so any thread may
call it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from urllib.parse import urlsplit

from runtime.herder.group.assignor import GroupWorker, Situation, Unit, assign
from runtime.kafka.group.protocol import Assignment, AssignmentError, Work, WorkerMetadata

FOREIGN_CAPACITY = 2.0
"""Slots assumed for a member of another implementation, which does not report its capacity."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A worker's view of the storage topics: an immutable snapshot, replaced by the event loop.

    `weights` names every connector and task that should run, with its relative load. `previous` is the worker
    (host:port) that ran a unit last, `departed` the time (time.time()) at which a worker left. `foreign` names
    connectors whose plugin this implementation does not have: they are assigned to members of another implementation.
    `delay` is `scheduled.rebalance.max.delay.ms` in seconds."""

    config_offset: int = -1
    weights: Mapping[Unit, float] = field(default_factory=dict)
    previous: Mapping[Unit, str] = field(default_factory=dict)
    departed: Mapping[str, float] = field(default_factory=dict)
    foreign: Collection[str] = ()
    delay: float = 300.0


def lead(leader_id: str, members: Mapping[str, WorkerMetadata], view: GroupView) -> Mapping[str, Assignment]:
    """Assignments by member id. If a member has read more of the config topic than the leader, nothing is assigned:
    all members read up to the same record and join again."""
    leader_url = members[leader_id].url
    newest = max(metadata.config_offset for metadata in members.values())
    if newest > view.config_offset:
        refused = Assignment(leader_id, leader_url, newest, error=AssignmentError.CONFIG_MISMATCH)
        return dict.fromkeys(members, refused)
    decision = assign(_situation(members, view))
    delay = 0 if decision.next_rebalance is None else max(1, ceil(decision.next_rebalance * 1000))
    return {
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


def worker_id(url: str) -> str:
    """A worker's name in statuses: host:port of its REST API."""
    return urlsplit(url).netloc


def _situation(members: Mapping[str, WorkerMetadata], view: GroupView) -> Situation:
    foreign = frozenset(name for name, metadata in members.items() if metadata.details is None)
    return Situation(
        [_member(name, metadata) for name, metadata in members.items()],
        view.weights,
        {name: list(_claims(metadata)) for name, metadata in members.items()},
        view.previous,
        view.departed,
        dict.fromkeys(view.foreign, foreign),
        time.time(),
        view.delay,
    )


def _member(name: str, metadata: WorkerMetadata) -> GroupWorker:
    details = metadata.details
    if details is None:
        return GroupWorker(name, worker_id(metadata.url), FOREIGN_CAPACITY)
    return GroupWorker(name, worker_id(metadata.url), float(max(details.slots, 1)), details.cordoned, details.draining)


def _claims(metadata: WorkerMetadata) -> Iterable[Unit]:
    if metadata.allocation is not None:
        for connector, tasks in metadata.allocation.assigned.items():
            for task in tasks:
                yield Unit(connector, task)


def _work(units: Iterable[Unit]) -> Work:
    found: dict[str, list[int]] = defaultdict(list)
    for unit in sorted(units):
        found[unit.connector].append(unit.task)
    return {connector: tuple(tasks) for connector, tasks in found.items()}
