"""The messages between the worker, its driver and its slots, distinguished by `op`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from runtime.model.states import State

VERSION = 1
"""Of these messages. A slot and a worker of different versions do not talk to each other; within a version both ignore
messages whose `op` they do not know, so that messages may be added."""


class RunPart(TypedDict):
    """Names one run of a task."""

    connector: str
    task: int
    epoch: int


class CallPart(TypedDict):
    """The connector's method that has been running for `seconds`; an empty `call`: none."""

    call: str
    seconds: float


# From the worker to a slot


class WelcomeMessage(TypedDict):
    """The first message: the slot has been accepted."""

    op: Literal["welcome"]
    stuck_after: float


class RefusedMessage(TypedDict):
    """The first message instead of WelcomeMessage: the slot has to end."""

    op: Literal["refused"]
    reason: str


class StartMessage(TypedDict):
    """`archives`: for a slot on another machine, the archive of each file or folder of the specification."""

    op: Literal["start"]
    spec: Any  # a TaskSpec; the slot receives it as a JSON object
    archives: Mapping[str, str]


class RunRequest(RunPart):
    op: Literal["stop", "revoke"]


class TopicsResetMessage(RunPart):
    """The connector's topics were reset at this time, in milliseconds since 1970: report them again."""

    op: Literal["reset_topics"]
    at: int


class PauseMessage(RunPart):
    op: Literal["pause"]
    paused: bool


class LimitMessage(RunPart):
    """The task's rate limit from now on: records and bytes per second; None: no limit."""

    op: Literal["limit"]
    records: float | None
    bytes: float | None


class StackRequest(RunPart):
    """The slot answers with a StackMessage of the same number."""

    op: Literal["stack"]
    number: int


class OffsetsStored(TypedDict):
    """The answer to an OffsetsMessage of the same number."""

    op: Literal["offsets"]
    number: int
    error: str | None


class OffsetsReply(TypedDict):
    """The answer to a ReadOffsetsMessage of the same number: the offset of each partition, or the error."""

    op: Literal["offsets_read"]
    number: int
    offsets: Sequence[Mapping[str, Any] | None]
    error: str | None


class StartReply(TypedDict):
    """The answer to a ConfirmStartMessage of the same number: the committed offsets, or why the task must not start.
    `final`: starting the task again would not help."""

    op: Literal["start_confirmed"]
    number: int
    offsets: Sequence[Any]  # of SourceOffset; the slot receives JSON objects
    error: str | None
    final: bool


class LevelsMessage(TypedDict):
    op: Literal["levels"]
    levels: dict[str, str]  # by logger


class LoginsMessage(TypedDict):
    """The current credentials of Kafka clients, by login (kafka.clients.logins)."""

    op: Literal["logins"]
    logins: Mapping[str, Mapping[str, Any]]


class DrainMessage(TypedDict):
    """The slot's tasks commit, end and are placed again, since the slot has to end soon."""

    op: Literal["drain"]
    reason: str


class EndJavaMessage(TypedDict):
    """The slot ends its JVM."""

    op: Literal["end_java"]
    reason: str


class LeaveMessage(TypedDict):
    op: Literal["leave"]


ToSlot = (
    WelcomeMessage
    | RefusedMessage
    | StartMessage
    | RunRequest
    | TopicsResetMessage
    | PauseMessage
    | LimitMessage
    | StackRequest
    | OffsetsStored
    | OffsetsReply
    | StartReply
    | LevelsMessage
    | LoginsMessage
    | DrainMessage
    | EndJavaMessage
    | LeaveMessage
)

# From a slot to the worker


class HelloMessage(TypedDict):
    """The first message of a slot. `room`: file descriptors for all its tasks; None: unlimited."""

    op: Literal["hello"]
    version: int
    generation: int
    slot: int
    attempt: int
    room: int | None


class UnableMessage(TypedDict):
    """Instead of hello: why this slot cannot run. Spark starts it again."""

    op: Literal["unable"]
    slot: int
    reason: str


class AliveMessage(TypedDict):
    """Memory in bytes: of the slot and its JVM, of the JVM alone, and the heap in use of the JVM."""

    op: Literal["alive"]
    memory: int
    java_memory: int
    java_heap: int


class LogMessage(TypedDict):
    op: Literal["log"]
    level: str
    logger: str
    message: str
    context: str


class RunEvent(RunPart):
    """`revoked`: the task runs, but can no longer put, produce or commit."""

    op: Literal["starting", "revoked", "ended"]


class StateMessage(RunPart):
    op: Literal["state"]
    state: State
    trace: str | None
    client_failed: bool


class TopicMessage(RunPart):
    op: Literal["topic"]
    topic: str


class MemberMessage(RunPart):
    op: Literal["member"]
    member_id: str


class OffsetsMessage(RunPart):
    op: Literal["offsets"]
    number: int
    records: Sequence[tuple[str, str | None]]  # keys and values of the offsets topic


class ReadOffsetsMessage(RunPart):
    op: Literal["read_offsets"]
    number: int
    partitions: Sequence[str]  # as canonical text


class ConfirmStartMessage(RunPart):
    op: Literal["confirm_start"]
    number: int


class NoRoomMessage(RunPart):
    op: Literal["no_room"]
    reason: str


class StuckMessage(RunPart, CallPart):
    op: Literal["stuck"]


class StackMessage(RunPart, CallPart):
    op: Literal["stack"]
    number: int
    stack: str


class FailurePart(TypedDict):
    """A failed record, with more fields for its position."""

    time: int
    message: str


class CountsPart(TypedDict):
    """Counts.snapshot()"""

    total: Mapping[str, int]
    stages: Mapping[str, Mapping[str, int]]
    last: Sequence[FailurePart]


class ErrorsMessage(RunPart):
    op: Literal["errors"]
    counts: CountsPart


class MetersPart(TypedDict):
    """Meter.snapshot()"""

    read: int
    written: int
    active: int
    batches: int
    batch_ms: float
    longest_ms: float
    throttled_ms: float
    commits: int
    commit_failures: int
    transactions: int
    transaction_records: int
    smallest_transaction: int | None
    largest_transaction: int
    partitions: int
    lag: int | None
    record_time: int
    progress_at: int
    plugins: Sequence[tuple[str, Mapping[str, str], float, str]]
    fallbacks_predicate: int
    fallbacks_transformation: int
    fallbacks_converter: int


class MeterPart(RunPart):
    op: Literal["meter"]
    meter: MetersPart


class MetersMessage(TypedDict):
    op: Literal["meters"]
    tasks: list[MeterPart]


class JavaEndedMessage(TypedDict):
    """The JVM of the slot has ended unexpectedly, and these tasks had plugins in it. `at_fault`: code in the JVM has
    ended it. The tasks report later that they have to be placed again."""

    op: Literal["java_ended"]
    tasks: list[RunPart]
    reason: str
    at_fault: bool


RunReport = (
    RunEvent
    | StateMessage
    | TopicMessage
    | MemberMessage
    | OffsetsMessage
    | ReadOffsetsMessage
    | ConfirmStartMessage
    | NoRoomMessage
    | StuckMessage
    | StackMessage
    | ErrorsMessage
)
"""Messages about one run of a task."""

TaskReport = RunReport | MetersMessage | JavaEndedMessage
"""Messages about tasks."""

FromSlot = AliveMessage | LogMessage | TaskReport
"""All messages after the first one."""

# Between the worker and the driver, after the settings


class SlotsMessage(TypedDict):
    """To the driver: the numbers of the slots to keep, and of those to start again because they do not connect.
    `executors`: slot, MB of memory and cores of those that need an executor of a certain size."""

    slots: list[int]
    executors: list[tuple[int, int, int]]
    restart: list[int]


class DriverLogMessage(TypedDict):
    op: Literal["log"]
    level: str
    message: str


class SlotEndedMessage(TypedDict):
    """Spark has reported that the process of this attempt has ended."""

    op: Literal["slot_ended"]
    slot: int
    attempt: int


class ExecutorsMessage(TypedDict):
    """Slots on a cluster, whenever one of the lists changes. `waiting` for an executor with a free core; `leaving`:
    their executors are being decommissioned."""

    op: Literal["executors"]
    waiting: Sequence[int]
    leaving: Sequence[int]


class ReadyMessage(TypedDict):
    """Spark has started, after `seconds`. `archive`: whether the class-data-sharing archive exists."""

    op: Literal["ready"]
    seconds: float
    version: str
    archive: bool


FromDriver = DriverLogMessage | ReadyMessage | SlotEndedMessage | ExecutorsMessage

# Between the worker and a slot on another machine, on the connection for its lease


class RenewMessage(TypedDict):
    op: Literal["renew"]


class LeaseMessage(TypedDict):
    """The slot may work for `seconds` after it has sent the request."""

    op: Literal["lease"]
    seconds: float
