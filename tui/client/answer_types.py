"""Types of REST answers, as checked by the shapes of `tui.client.answers`. For annotations only: never imported at run
time. The worker defines the same answers in `runtime/herder/answers.py`: the two halves never import each other, and
the console also reads the answers of Apache's workers, which lack some fields."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

Json = Any


class RootAnswer(TypedDict, total=False):
    """`GET /`."""

    version: str | None
    commit: str | None
    kafka_cluster_id: str | None


class OffsetEntry(TypedDict, total=False):
    """An entry of the history; `offset` is None for a reset."""

    partition: Json
    offset: Json


class HistoryChange(TypedDict):
    """One change of a connector's offsets; `time` in milliseconds since 1970."""

    number: int
    time: int
    action: str
    who: str
    why: str
    before: list[OffsetEntry]
    after: list[OffsetEntry]


class HistoryAnswer(TypedDict):
    """`GET /connectors/{name}/offsets/history`, newest change first."""

    history: list[HistoryChange]


class ConfigHistoryChange(TypedDict):
    """A change of a config; `before` is None for a creation, `after` for a deletion."""

    number: int
    time: int
    action: str
    who: str
    why: str
    state: str
    before: dict[str, str] | None
    after: dict[str, str] | None


class ConfigHistoryAnswer(TypedDict):
    """`GET /connectors/{name}/config/history`, newest change first."""

    history: list[ConfigHistoryChange]


class DeletedConnector(TypedDict):
    name: str
    time: int
    who: str
    why: str


class DeletedAnswer(TypedDict):
    """`GET /deleted-connectors`, the latest deletion first."""

    deleted: list[DeletedConnector]


class OrphanedSource(TypedDict):
    connector: str
    partitions: int


class OrphanedSink(TypedDict):
    connector: str
    partitions: int
    group: str


class OrphansAnswer(TypedDict):
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


class ResolvedAnswer(TypedDict):
    """`POST /connectors/{name}/offsets/resolve`."""

    changes: list[ResolvedChange]


class InfoAnswer(TypedDict, total=False):
    """`GET /connectors/{name}`."""

    name: str
    type: str
    config: dict[str, Json]


class StateAnswer(TypedDict, total=False):
    """The state of a connector or task."""

    id: int  # of tasks
    state: str
    worker_id: str
    version: str | None
    trace: str


class StatusAnswer(TypedDict, total=False):
    """`GET /connectors/{name}/status`."""

    name: str
    type: str
    connector: StateAnswer
    tasks: list[StateAnswer]


class ListedAnswer(TypedDict, total=False):
    """A connector of `GET /connectors?expand=…`; `tui.model.connector` checks the parts."""

    status: Json
    info: Json


class TaskReference(TypedDict):
    connector: str
    task: int


class TaskAnswer(TypedDict):
    """An element of `GET /connectors/{name}/tasks`."""

    id: TaskReference
    config: dict[str, Json]


class TopicsAnswer(TypedDict, total=False):
    """The value of `GET /connectors/{name}/topics` for the connector."""

    topics: list[str]


class LoggedLine(TypedDict, total=False):
    """A line of `GET /connectors/{name}/logs`; `time` in milliseconds since 1970."""

    time: int
    level: str
    task: int | None
    message: str


class LagAnswer(TypedDict, total=False):
    records: int
    ms: int | None


class DetailedOffset(OffsetEntry, total=False):
    """An offset; our workers add `end` and `lag` for sinks, `age_ms` for sources."""

    end: int | None
    lag: LagAnswer | None
    age_ms: int | None


class OffsetsAnswer(TypedDict, total=False):
    """`GET /connectors/{name}/offsets`; our workers add `stalled` and `expires_at` on request."""

    offsets: list[DetailedOffset]
    stalled: list[int]
    expires_at: int | None


PluginAnswer = TypedDict("PluginAnswer", {"class": str, "type": str, "version": NotRequired[str | None]})
"""An element of `GET /connector-plugins`; older workers have no versions."""

PluginDetailsAnswer = TypedDict(
    "PluginDetailsAnswer", {"class": str, "type": str, "version": str, "language": str, "from": str}
)
"""An element of `GET /connector-plugins/details`; `from` is a jar, a folder, an environment or "bundled"."""


class KeyAnswer(TypedDict, total=False):
    """An element of `GET /connector-plugins/{class}/config`: the definition of a config key."""

    name: str
    type: str | None
    required: bool | None
    default_value: Json
    importance: str | None
    documentation: str | None
    group: str | None
    order_in_group: int | None


class ValueAnswer(TypedDict, total=False):
    """The value of a config key, as validated."""

    name: str | None
    recommended_values: list[Json] | None
    errors: list[str] | None
    visible: bool | None


class ValidatedKey(TypedDict, total=False):
    definition: KeyAnswer | None
    value: ValueAnswer | None


class ValidationAnswer(TypedDict, total=False):
    """`PUT /connector-plugins/{class}/config/validate`."""

    error_count: int | None
    configs: list[ValidatedKey] | None


class HealthAnswer(TypedDict, total=False):
    """`GET /health` (KIP-1017)."""

    status: str
    message: str


class LoggerAnswer(TypedDict, total=False):
    """The level of a logger; `last_modified` in milliseconds since 1970."""

    level: str | None
    last_modified: int | None


class WorkerAnswer(TypedDict):
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
    load: NotRequired[float]


class WaitingAnswer(TaskReference):
    """A connector (task -1) or task that is reserved until a time, in milliseconds since 1970."""

    until: int


class ReloadedWorker(TypedDict):
    """What one worker has reloaded."""

    plugins: list[Json]
    restarted: list[str]
    missing: list[str]


class ReloadAnswer(TypedDict):
    """`POST /connector-plugins/reload`; null for a worker that has not answered."""

    workers: dict[str, ReloadedWorker | None]


class WorkersAnswer(TypedDict):
    """`GET /workers`."""

    workers: list[WorkerAnswer]
    group_id: NotRequired[str]
    generation: NotRequired[int]
    leader: NotRequired[str]
    rebalancing: NotRequired[bool]
    waiting: NotRequired[list[WaitingAnswer]]


class FailuresAnswer(TypedDict, total=False):
    """`GET /connectors/{name}/errors`: counts of failed records, and the newest failures."""

    since: int
    total: dict[str, int]
    stages: dict[str, dict[str, int]]
    last: list[dict[str, Json]]


class RecordedProgress(TypedDict):
    """The progress of a connector at one time, in milliseconds since 1970; counts begin with the worker's start."""

    time: int
    written: int
    lag: int | None


class ProgressHistoryAnswer(TypedDict):
    """`GET /connectors/{name}/progress`, oldest first."""

    points: list[RecordedProgress]


class RestartPolicyAnswer(TypedDict):
    """When a connector is restarted automatically. `attempts` in a row; 0: none, -1: without limit."""

    attempts: int


class PastRestartAnswer(TypedDict):
    """A failure; `attempt` is the number of the restart that followed, 0 for none."""

    time: int
    attempt: int
    error: str


class RestartUnitAnswer(TypedDict):
    """A connector (`task` is null) or task. `due`: time of the restart that waits; `ended`: no restart follows."""

    task: int | None
    attempts: int
    due: int | None
    ended: bool
    history: list[PastRestartAnswer]


class RestartsAnswer(TypedDict):
    """`GET /connectors/{name}/restarts`."""

    name: str
    policy: RestartPolicyAnswer
    units: list[RestartUnitAnswer]


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


class PreviewRecord(PreviewFate):
    """A record before and after the transformations. `now` is its fate with the current config."""

    before: dict[str, Json] | None
    after: dict[str, Json] | None
    stages: list[PreviewStage]
    kafka: NotRequired[dict[str, Json] | None]
    now: NotRequired[PreviewFate | None]
    error: NotRequired[Json]


class PreviewAnswer(TypedDict):
    """`POST /connectors/{name}/preview`."""

    records: list[PreviewRecord]
    summary: dict[str, int]
    warnings: list[str]
