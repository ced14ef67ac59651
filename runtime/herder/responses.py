"""The JSON objects that the REST API returns, as types. Times are milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from runtime.model.states import State

Json = dict[str, Any]
"""A JSON object whose keys a connector chooses, such as a source partition or its offset."""


ConnectorType = Annotated[str, {"enum": ["source", "sink", "unknown"]}]
StateName = Annotated[str, {"enum": [str(state) for state in State]}]


class TaskIdResponse(TypedDict):
    """An element of the `tasks` of a connector."""

    connector: str
    task: int


class InfoResponse(TypedDict):
    """GET /connectors/{name}."""

    name: str
    config: dict[str, str]
    tasks: list[TaskIdResponse]
    type: ConnectorType
    initial_offsets_response: NotRequired[str]  # of POST /connectors with `initial_offsets` (KIP-995)


class TaskResponse(TypedDict):
    """An element of GET /connectors/{name}/tasks."""

    id: TaskIdResponse
    config: dict[str, str]


class StateResponse(TypedDict):
    """The state of a connector."""

    state: StateName
    worker_id: str
    version: str | None
    trace: NotRequired[str]


class TaskStatusResponse(StateResponse):
    """GET /connectors/{name}/tasks/{task}/status."""

    id: int


class StatusResponse(TypedDict):
    """GET /connectors/{name}/status."""

    name: str
    connector: StateResponse
    tasks: list[TaskStatusResponse]
    type: ConnectorType


class ExpandedResponse(TypedDict, total=False):
    """A connector in GET /connectors?expand=…, with the parts that were requested."""

    status: StatusResponse
    info: InfoResponse


class EntryResponse(TypedDict):
    """A connector in the worker's events."""

    name: str
    status: StatusResponse
    info: InfoResponse


class StackResponse(TypedDict):
    """GET /connectors/{name}/tasks/{task}/stack. `call` is the connector's method that has been running for `seconds`;
    empty if the task is not in the connector's code."""

    id: int
    slot: int
    pid: int
    call: str
    seconds: float
    stack: list[str]
    host: NotRequired[str]  # of a slot on another machine


class TopicsResponse(TypedDict):
    """The value of GET /connectors/{name}/topics for the connector."""

    topics: list[str]


class MessageResponse(TypedDict):
    """The result of a change of offsets (KIP-875)."""

    message: str


class OffsetResponse(TypedDict):
    """An offset of a partition; None for a partition whose offset was removed."""

    partition: Json | None
    offset: Json | None


class OffsetsResponse(TypedDict):
    """GET /connectors/{name}/offsets (KIP-875)."""

    offsets: list[OffsetResponse]


class LagResponse(TypedDict):
    """The lag of a sink. `ms` is the age of the next record to read; None if the record has no timestamp."""

    records: int
    ms: int | None


class DetailedOffset(OffsetResponse):
    """An offset with the lag of a sink (`end`, `lag`) or the age of a source's offset (`written`, `age_ms`)."""

    end: NotRequired[int | None]
    lag: NotRequired[LagResponse | None]
    written: NotRequired[int | None]
    age_ms: NotRequired[int | None]


class DetailedOffsetsResponse(TypedDict):
    """GET /connectors/{name}/offsets?detail=true."""

    offsets: list[DetailedOffset]
    stalled: NotRequired[list[int]]
    expires_at: NotRequired[int | None]


class RateLimitResponse(TypedDict):
    """The rate limit of a connector, per second; None: no limit."""

    records: float | None
    bytes: float | None


class ProgressResponse(TypedDict):
    """The progress of a connector, in events and metrics. `throttled_ms`: time for which its rate limit has delayed its
    tasks."""

    read: int
    written: int
    failed: int
    lag: LagResponse | None
    age_ms: int | None
    stalled: list[int]
    limit: RateLimitResponse | None
    throttled_ms: int


class RestartPolicyResponse(TypedDict):
    """When a connector is restarted automatically. `attempts` in a row; 0: none, -1: without limit."""

    attempts: int
    delay_ms: int
    delay_max_ms: int
    errors: list[str]
    reset_ms: int


class PastRestartResponse(TypedDict):
    """A failure and its automatic restart; `restarted` is null, and `attempt` 0, if none followed."""

    time: int
    attempt: int
    restarted: int | None
    error: str


class RestartUnitResponse(TypedDict):
    """The automatic restarts of a connector (`task` is null) or task. `due`: time of the restart that waits. `ended`:
    no further restart follows."""

    task: int | None
    attempts: int
    due: int | None
    ended: bool
    history: list[PastRestartResponse]


class RestartsResponse(TypedDict):
    """GET /connectors/{name}/restarts: units that have failed."""

    name: str
    policy: RestartPolicyResponse
    units: list[RestartUnitResponse]


class ProgressPoint(TypedDict):
    """The progress of a connector at one time, in milliseconds since 1970. Counts begin with the worker's start; `lag`
    in records is null for sources."""

    time: int
    read: int
    written: int
    failed: int
    lag: int | None


class PastChangeResponse(TypedDict):
    """A change of offsets in the history."""

    number: int
    time: int
    action: str
    who: str
    why: str
    before: list[OffsetResponse]
    after: list[OffsetResponse]


class HistoryResponse(TypedDict):
    """GET /connectors/{name}/offsets/history, the newest change first."""

    history: list[PastChangeResponse]


class PastConfigResponse(TypedDict):
    """A change of a config in the history: the config before and after, and the target state before."""

    number: int
    time: int
    action: str
    who: str
    why: str
    state: str
    before: Mapping[str, str] | None
    after: Mapping[str, str] | None


class ConfigHistoryResponse(TypedDict):
    """GET /connectors/{name}/config/history, the newest change first."""

    history: list[PastConfigResponse]


class DeletedConnectorResponse(TypedDict):
    """A deleted connector, with the user, time and reason of the deletion."""

    name: str
    time: int
    who: str
    why: str


class DeletedResponse(TypedDict):
    """GET /deleted-connectors, the latest deletion first."""

    deleted: list[DeletedConnectorResponse]


SeekResponse = TypedDict(
    "SeekResponse",
    {
        "partition": Json | None,
        "from": int | None,
        "to": int,
        "reread": int,
        "skipped": int,
        "beginning": int,
        "end": int,
    },
)
"""The effect of seeking in one partition."""


class ResolvedResponse(TypedDict):
    """POST /connectors/{name}/offsets/resolve. `offsets` can be sent with PATCH /connectors/{name}/offsets."""

    offsets: list[OffsetResponse]
    changes: list[SeekResponse]
    reread: int
    skipped: int


class OrphanedSourceResponse(TypedDict):
    """Offsets of a deleted source in the offset topic."""

    connector: str
    partitions: int


class OrphanedSinkResponse(OrphanedSourceResponse):
    """The consumer group of a deleted sink."""

    group: str


class OrphansResponse(TypedDict):
    """GET /orphaned-offsets."""

    sources: list[OrphanedSourceResponse]
    sinks: list[OrphanedSinkResponse]


class MemberResponse(TypedDict):
    """What the group knows of a worker. `load` is the number of processor cores in use, measured at `load_at`.
    `connectors` are those that run on the worker, which may differ from those of its `tasks`."""

    worker_id: str
    url: str
    leader: bool
    implementation: Annotated[str, {"enum": ["headrace", "connect"]}]
    version: str
    slots: int
    load: float
    load_at: int
    state: Annotated[str, {"enum": ["ACTIVE", "CORDONED", "DRAINING", "FOREIGN"]}]
    connectors: list[str]
    tasks: list[TaskIdResponse]


class OwnWorkerResponse(TypedDict):
    """What a worker knows of itself alone: None unless it, or the leader from which the response is, is that worker.
    `slots_without_core` are the numbers of slots that wait for a core of a Spark cluster. `memory` is that of its slots
    in bytes with their JVMs for Java plugins, `java_memory` that of these JVMs."""

    here: bool  # whether this worker answers
    slots_without_core: list[int] | None
    memory: int | None
    java_memory: int | None


class GroupWorkerResponse(MemberResponse, OwnWorkerResponse):
    """A worker of the group."""


class WaitingResponse(TaskIdResponse):
    """A task, or a connector (task -1), reserved until a time for a worker that may return."""

    until: int


class WorkersResponse(TypedDict):
    """GET /workers."""

    group_id: str
    generation: int
    leader: str
    rebalancing: bool
    workers: list[GroupWorkerResponse]
    waiting: list[WaitingResponse]
    missing: NotRequired[list[str]]  # workers without a usable response
