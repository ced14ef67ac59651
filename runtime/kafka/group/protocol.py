"""Connect's group protocol as bytes: the metadata of joining workers and the leader's assignments (KIP-415, KIP-507).

Three versions share one group type, `connect`: 0 ("default", eager), 1 ("compatible", incremental cooperative) and
2 ("sessioned": version 1 with signed requests between workers). The broker does not interpret these bytes, and Java's
workers read them field by field without checking for a remainder. Headrace workers therefore append a trailer,
`Details`, which Java ignores.

The functions are pure. Integers are big-endian and signed, as in Kafka's protocol.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import orjson

GROUP_TYPE: Final = "connect"
PROTOCOL_NAMES: Final[Mapping[int, str]] = {2: "sessioned", 1: "compatible", 0: "default"}
"""Names under which a member offers each version, the preferred one first."""

CONNECTOR: Final = -1
"""The task number that stands for the connector itself in an assignment."""

_TASK = re.compile("[0-9]{1,10}")
_MAGIC: Final = b"HDRC"
"""The first bytes of the trailer, which distinguish it from other data."""
_MAX_ENTRIES: Final = 1_000_000
"""Connectors in one assignment, and tasks of one connector; more are treated as corrupt data."""

_INT16, _INT32, _INT64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")


class ProtocolError(ValueError):
    """The bytes are not metadata or an assignment of Connect's group protocol."""


class AssignmentError(IntEnum):
    """The error field of an assignment."""

    NONE = 0
    CONFIG_MISMATCH = 1
    """The leader had read less of the config topic than another member: nothing is assigned, and members join again."""


Work = Mapping[str, tuple[int, ...]]
"""Tasks by connector; `CONNECTOR` among the tasks stands for the connector itself."""


@dataclass(frozen=True, slots=True)
class Details:
    """Details that a Headrace worker appends to its metadata; Java's workers send none.

    `loads` are processor cores by task number (as text) by connector, without idle tasks; `load` is their sum. `slots`
    is the number of slots, 0 until one is up. A `draining` worker gives up its work and gets no new work. `process`
    identifies the worker's process on its machine (see `system.process_identity`). Slots `elsewhere`, on the executors
    of a cluster, may outlive that process by their leases: its session has to expire before others take its units.
    `topics` are the storage topics by the worker's properties."""

    version: str = ""
    slots: int = 0
    loads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    draining: bool = False
    process: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)

    @property
    def load(self) -> float:
        return sum(cores for tasks in self.loads.values() for cores in tasks.values())


@dataclass(frozen=True, slots=True)
class Assignment:
    """The leader's assignment for one member.

    `config_offset` is the offset of the config topic that the assignment is based on. `assigned` holds all
    the member's work in version 0, and only the added work from version 1 on. `revoked` (from version 1 on) is the
    work that the member stops before it joins again. `delay` is the number of milliseconds until the next rebalance,
    for tasks that wait for a worker to return."""

    leader: str
    leader_url: str
    config_offset: int
    assigned: Work = field(default_factory=dict)
    revoked: Work = field(default_factory=dict)
    delay: int = 0
    error: AssignmentError = AssignmentError.NONE
    version: int = 2


@dataclass(frozen=True, slots=True)
class WorkerMetadata:
    """The metadata of a joining member: its REST URL, its offset in the config topic, and its current work."""

    url: str
    config_offset: int
    allocation: Assignment | None = None
    details: Details | None = None
    version: int = 2


Lead = Callable[[str, Mapping[str, WorkerMetadata]], Mapping[str, Assignment]]
"""Computes the assignment of each member from the leader's member id and the metadata by member id, in version 2.
Called on the network thread."""


def refusals(leader_id: str, members: Mapping[str, WorkerMetadata], names: Iterable[str]) -> dict[str, Assignment]:
    """Assignments that assign nothing to the members with these names: they read the config topic up to the newest
    record that any of `members` has read, keep their work, and join again."""
    newest = max(metadata.config_offset for metadata in members.values())
    refused = Assignment(leader_id, members[leader_id].url, newest, error=AssignmentError.CONFIG_MISMATCH)
    return dict.fromkeys(names, refused)


def encode_metadata(metadata: WorkerMetadata) -> bytes:
    """The member metadata of JoinGroup."""
    parts = [_INT16.pack(metadata.version), _string(metadata.url), _INT64.pack(metadata.config_offset)]
    if metadata.version > 0:
        held = None if metadata.allocation is None else encode_assignment(metadata.allocation)
        parts.append(_INT32.pack(-1) if held is None else _INT32.pack(len(held)) + held)
    if metadata.details is not None:
        parts.append(_trailer(metadata.details))
    return b"".join(parts)


def decode_metadata(data: bytes) -> WorkerMetadata:
    """The metadata in `data`. ProtocolError for bytes that no worker writes."""
    source = _Reader(data)
    version = _version(source)
    url, config_offset = source.string(), source.integer(_INT64)
    allocation = None
    if version > 0:
        held = source.nullable_bytes()
        allocation = decode_assignment(held) if held else None
    return WorkerMetadata(url, config_offset, allocation, _details(source.rest()), version)


def encode_assignment(assignment: Assignment) -> bytes:
    """The assignment of one member in SyncGroup."""
    parts = [
        _INT16.pack(assignment.version),
        _INT16.pack(assignment.error),
        _string(assignment.leader),
        _string(assignment.leader_url),
        _INT64.pack(assignment.config_offset),
        *_work(assignment.assigned),
    ]
    if assignment.version > 0:
        parts += [*_work(assignment.revoked), _INT32.pack(assignment.delay)]
    return b"".join(parts)


def decode_assignment(data: bytes) -> Assignment:
    """The assignment in `data`. ProtocolError for bytes that no leader writes."""
    source = _Reader(data)
    version = _version(source)
    code = source.integer(_INT16)
    try:
        error = AssignmentError(code)
    except ValueError:
        raise ProtocolError(f"unknown error {code} in an assignment") from None
    leader, leader_url, config_offset = source.string(), source.string(), source.integer(_INT64)
    assigned = source.work()
    revoked, delay = (source.work(), source.integer(_INT32)) if version > 0 else ({}, 0)
    return Assignment(leader, leader_url, config_offset, assigned, revoked, delay, error, version)


def _version(source: _Reader) -> int:
    version = source.integer(_INT16)
    if version < 0:
        raise ProtocolError(f"invalid version {version} of Connect's group protocol")
    return version


def _string(text: str) -> bytes:
    data = text.encode()
    if len(data) > 0x7FFF:
        raise ProtocolError(f"a string of {len(data)} bytes exceeds the maximum of 32767")
    return _INT16.pack(len(data)) + data


def _work(work: Work) -> Iterable[bytes]:
    yield _INT32.pack(len(work))
    for connector, tasks in work.items():
        yield _string(connector)
        yield struct.pack(f">i{len(tasks)}i", len(tasks), *tasks)


def _trailer(details: Details) -> bytes:
    return _MAGIC + orjson.dumps(
        {
            "version": details.version,
            "slots": details.slots,
            "loads": details.loads,
            "draining": details.draining,
            "process": dict(details.process),
            "elsewhere": details.elsewhere,
            "topics": dict(details.topics),
        }
    )


def _details(rest: bytes) -> Details | None:
    """The details in a trailer; None without a trailer, or if it cannot be read: details are informational."""
    if not rest.startswith(_MAGIC):
        return None
    try:
        document = orjson.loads(rest[len(_MAGIC) :])
        return Details(
            str(document["version"]),
            int(document["slots"]),
            {name: _loads(tasks) for name, tasks in document["loads"].items()},
            document["draining"] is True,
            dict(document["process"]),
            document.get("elsewhere") is True,
            dict(document.get("topics", {})),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _loads(tasks: Mapping[str, Any]) -> dict[str, float]:
    """The loads of a connector's tasks, without malformed entries, with which a leader cannot compute weights."""
    loads = {task: float(cores) for task, cores in tasks.items() if _TASK.fullmatch(task)}
    return {task: cores for task, cores in loads.items() if cores >= 0}


class _Reader:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def integer(self, form: struct.Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def string(self) -> str:
        size = self.integer(_INT16)
        if size < 0:
            return ""
        try:
            return self._take(size).decode()
        except UnicodeDecodeError:
            raise ProtocolError("a string is not UTF-8") from None

    def nullable_bytes(self) -> bytes | None:
        size = self.integer(_INT32)
        return None if size < 0 else self._take(size)

    def work(self) -> dict[str, tuple[int, ...]]:
        """Tasks by connector, from an array that may be null. It may list the same connector more than once."""
        connectors: dict[str, tuple[int, ...]] = {}
        for _ in range(self._count()):
            connector = self.string()
            tasks = struct.unpack(f">{(count := self._count())}i", self._take(4 * count))
            connectors[connector] = connectors.get(connector, ()) + tasks
        return connectors

    def rest(self) -> bytes:
        return self._data[self._at :]

    def _count(self) -> int:
        count = self.integer(_INT32)
        if count > _MAX_ENTRIES:
            raise ProtocolError(f"an array of {count} entries exceeds the maximum of {_MAX_ENTRIES}")
        return max(count, 0)

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ProtocolError(f"{end - len(self._data)} bytes are missing")
        part, self._at = self._data[self._at : end], end
        return part
