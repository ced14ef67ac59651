"""The responses of the Connect REST API, as far as the console reads them: their types, from which `shape_of` derives
the check of each response.

A worker may leave out fields that are not required here, or return null: Apache's workers lack those that Headrace
adds. `runtime/herder/responses.py` declares what a Headrace worker returns; a contract test compares both.
"""

# Without `from __future__ import annotations`, which would leave text for `shape_of` to evaluate.

from typing import Annotated, Any, NotRequired, TypedDict

from tui.client.shapes import TIME, Number, Object, Shape

Json = Any
Partition = dict[str, Json]
Time = Annotated[int, TIME]
"""Milliseconds since 1970."""

Rate = Annotated[float, Number((int, float), 0)]


class RootResponse(TypedDict, total=False):
    """`GET /`."""

    version: str | None
    commit: str | None
    kafka_cluster_id: str | None


class OffsetEntry(TypedDict, total=False):
    """An entry of the history; `offset` is None for a reset."""

    partition: Partition | None
    offset: Partition | None


class HistoryChange(TypedDict):
    """One change of a connector's offsets."""

    number: int
    time: Time
    action: str
    who: str
    why: str
    before: list[OffsetEntry]
    after: list[OffsetEntry]


class HistoryResponse(TypedDict):
    """`GET /connectors/{name}/offsets/history`, newest change first."""

    history: list[HistoryChange]


class ConfigHistoryChange(TypedDict):
    """A change of a config; `before` is None for a creation, `after` for a deletion."""

    number: int
    time: Time
    action: str
    who: str
    why: str
    state: str
    before: dict[str, str] | None
    after: dict[str, str] | None


class ConfigHistoryResponse(TypedDict):
    """`GET /connectors/{name}/config/history`, newest change first."""

    history: list[ConfigHistoryChange]


class DeletedConnector(TypedDict):
    name: str
    time: Time
    who: str
    why: str


class DeletedResponse(TypedDict):
    """`GET /deleted-connectors`, the latest deletion first."""

    deleted: list[DeletedConnector]


class OrphanedSource(TypedDict):
    connector: str
    partitions: int


class OrphanedSink(TypedDict):
    connector: str
    partitions: int
    group: str


class OrphansResponse(TypedDict):
    """`GET /orphaned-offsets`."""

    sources: list[OrphanedSource]
    sinks: list[OrphanedSink]


class SinkPartition(TypedDict):
    kafka_topic: str
    kafka_partition: int


ResolvedChange = TypedDict(
    "ResolvedChange", {"partition": SinkPartition, "from": int | None, "to": int, "reread": int, "skipped": int}
)
"""A partition's offsets before and after seeking, and the effect in records."""


class ResolvedResponse(TypedDict):
    """`POST /connectors/{name}/offsets/resolve`."""

    changes: list[ResolvedChange]


class InfoResponse(TypedDict, total=False):
    """`GET /connectors/{name}`."""

    name: str
    type: str
    config: dict[str, Json]


class StateResponse(TypedDict, total=False):
    """The state of a connector."""

    state: str
    worker_id: str
    version: str | None
    trace: str


class TaskStateResponse(StateResponse):
    """The state of a task."""

    id: int


class StatusResponse(TypedDict, total=False):
    """`GET /connectors/{name}/status`."""

    name: str
    type: str
    connector: StateResponse
    tasks: list[TaskStateResponse]


class ListedResponse(TypedDict, total=False):
    """A connector of `GET /connectors?expand=…`; `tui.model.connector` checks the parts."""

    status: Json
    info: Json


class TaskReference(TypedDict):
    connector: str
    task: int


class TaskResponse(TypedDict):
    """An element of `GET /connectors/{name}/tasks`."""

    id: TaskReference
    config: dict[str, Json]


class TopicsResponse(TypedDict, total=False):
    """The value of `GET /connectors/{name}/topics` for the connector."""

    topics: list[str]


class LoggedLine(TypedDict, total=False):
    """A line of `GET /connectors/{name}/logs`."""

    time: Time
    level: str
    task: int | None
    message: str


class LagResponse(TypedDict, total=False):
    records: int
    ms: int | None


class DetailedOffset(OffsetEntry, total=False):
    """An offset; our workers add `end` and `lag` for sinks, `age_ms` for sources."""

    end: int | None
    lag: LagResponse | None
    age_ms: int | None


class OffsetsResponse(TypedDict, total=False):
    """`GET /connectors/{name}/offsets`; our workers add `stalled` and `expires_at` on request."""

    offsets: list[DetailedOffset]
    stalled: list[int]
    expires_at: Time | None


PluginResponse = TypedDict("PluginResponse", {"class": str, "type": str, "version": NotRequired[str | None]})
"""An element of `GET /connector-plugins`; older workers have no versions."""

PluginDetailsResponse = TypedDict(
    "PluginDetailsResponse",
    {
        "class": str,
        "type": str,
        "version": str,
        "language": str,
        "from": str,
        "worker_classes": NotRequired[dict[str, str]],
    },
)
"""An element of `GET /connector-plugins/details`; `from` is a jar, a folder, an environment or "bundled".
`worker_classes` are those of Apache's worker that a Java plugin uses, with what it gets for them."""


class KeyResponse(TypedDict):
    """An element of `GET /connector-plugins/{class}/config`: the definition of a config key."""

    name: str
    type: NotRequired[str | None]
    required: NotRequired[bool | None]
    default_value: NotRequired[Json]
    importance: NotRequired[str | None]
    documentation: NotRequired[str | None]
    group: NotRequired[str | None]
    order_in_group: NotRequired[int | None]


class ValueResponse(TypedDict, total=False):
    """The value of a config key, as validated."""

    name: str | None
    recommended_values: list[Json] | None
    errors: list[str] | None
    visible: bool | None


class ValidatedKey(TypedDict, total=False):
    definition: KeyResponse | None
    value: ValueResponse | None


class ValidationResponse(TypedDict, total=False):
    """`PUT /connector-plugins/{class}/config/validate`."""

    error_count: int | None
    configs: list[ValidatedKey] | None


class HealthResponse(TypedDict, total=False):
    """`GET /health` (KIP-1017)."""

    status: str
    message: str


class LoggerResponse(TypedDict, total=False):
    """The level of a logger."""

    level: str | None
    last_modified: Time | None


class WorkerResponse(TypedDict):
    """A worker of `GET /workers`. `load` is the number of processor cores in use; `slots_without_core` are the slots
    that wait for a core of a Spark cluster."""

    worker_id: str
    connectors: list[str]
    tasks: list[TaskReference]
    url: NotRequired[str]
    implementation: NotRequired[str]
    version: NotRequired[str]
    state: NotRequired[str]
    leader: NotRequired[bool]
    here: NotRequired[bool]
    slots: NotRequired[int]
    slots_without_core: NotRequired[list[int] | None]
    load: NotRequired[Rate]
    memory: NotRequired[int | None]


class WaitingResponse(TaskReference):
    """A connector (task -1) or task that is reserved until a time."""

    until: Time


class ReloadedWorker(TypedDict):
    """What one worker has reloaded."""

    plugins: list[Json]
    restarted: list[str]
    missing: list[str]


class ReloadResponse(TypedDict):
    """`POST /connector-plugins/reload`; null for a worker that has not responded."""

    workers: dict[str, ReloadedWorker | None]


class WorkersResponse(TypedDict):
    """`GET /workers`."""

    workers: list[WorkerResponse]
    group_id: NotRequired[str]
    generation: NotRequired[int]
    leader: NotRequired[str]
    rebalancing: NotRequired[bool]
    waiting: NotRequired[list[WaitingResponse]]


class FailuresResponse(TypedDict, total=False):
    """`GET /connectors/{name}/errors`: counts of failed records, and the newest failures."""

    since: Time
    total: dict[str, int]
    stages: dict[str, dict[str, int]]
    last: list[Annotated[dict[str, Json], Object(optional={"time": TIME})]]


class RecordedProgress(TypedDict):
    """The progress of a connector at one time; counts begin with the worker's start."""

    time: Time
    written: int
    lag: int | None


class ProgressHistoryResponse(TypedDict):
    """`GET /connectors/{name}/progress`, oldest first."""

    points: list[RecordedProgress]


class RestartPolicyResponse(TypedDict):
    """When a connector is restarted automatically. `attempts` in a row; 0: none, -1: without limit."""

    attempts: int


class PastRestartResponse(TypedDict):
    """A failure; `attempt` is the number of the restart that followed, 0 for none, and `restarted` its time."""

    time: Time
    attempt: int
    restarted: NotRequired[Time | None]
    error: str


class RestartUnitResponse(TypedDict):
    """A connector (`task` is null) or task. `due`: time of the restart that waits; `ended`: no restart follows."""

    task: int | None
    attempts: int
    due: Time | None
    ended: bool
    history: list[PastRestartResponse]


class RestartsResponse(TypedDict):
    """`GET /connectors/{name}/restarts`."""

    name: str
    policy: RestartPolicyResponse
    units: list[RestartUnitResponse]


class PreviewFate(TypedDict):
    """What happens to a record; `by`: the transformation or converter that decides."""

    result: str
    by: NotRequired[Json]


class PreviewChange(TypedDict):
    """A changed part of a record; `before` or `after` is missing where the part does not exist."""

    at: str
    before: NotRequired[Json]
    after: NotRequired[Json]


class PreviewStage(TypedDict):
    alias: str
    changes: NotRequired[list[PreviewChange] | None]


_OF_TOPIC = Object({"topic": Shape()}, {"partition": Number(), "offset": Number()})


class PreviewRecord(PreviewFate):
    """A record before and after the transformations; `more`: further records that they make of it. `now` is its fate
    with the current config."""

    before: Annotated[dict[str, Json], _OF_TOPIC] | None
    after: Annotated[dict[str, Json], _OF_TOPIC] | None
    more: NotRequired[list[dict[str, Json]] | None]
    stages: list[PreviewStage]
    kafka: NotRequired[Annotated[dict[str, Json], _OF_TOPIC] | None]
    now: NotRequired[PreviewFate | None]
    error: NotRequired[Json]


class PreviewResponse(TypedDict):
    """`POST /connectors/{name}/preview`."""

    records: list[PreviewRecord]
    summary: Annotated[dict[str, int], Object({"records": Number()})]
    warnings: list[str]


class ReportedLag(TypedDict, total=False):
    """The lag of a sink, in events."""

    records: int


class RateLimit(TypedDict, total=False):
    """Records and bytes per second; null: no limit."""

    records: Rate | None
    bytes: Rate | None


class Progress(TypedDict, total=False):
    """The progress of a connector, in events."""

    lag: ReportedLag | None
    age_ms: int | None
    stalled: list[int]
    read: int
    failed: int
    written: Rate
    limit: RateLimit | None


class SnapshotEvent(TypedDict):
    """The first event of a stream: all connectors."""

    connectors: dict[str, ListedResponse]
    progress: NotRequired[dict[str, Progress]]
    changed_at: NotRequired[dict[str, Time]]


class ProgressEvent(TypedDict):
    connectors: dict[str, Progress]


class ConnectorEvent(TypedDict):
    """A connector that has been created or has changed; `tui.model.connector` checks the parts."""

    name: str
    status: NotRequired[dict[str, Json]]
    info: NotRequired[dict[str, Json]]


class RemovedEvent(TypedDict):
    name: str


class NoticeEvent(TypedDict, total=False):
    """A message of the worker about a connector or task."""

    level: str
    message: str
    connector: str
    task: int


EVENTS: dict[str, Any] = {
    "snapshot": SnapshotEvent,
    "progress": ProgressEvent,
    "connector": ConnectorEvent,
    "removed": RemovedEvent,
    "log": NoticeEvent,
    "notice": NoticeEvent,
}
"""Data of `GET /events` by event name; other events belong to newer workers."""
