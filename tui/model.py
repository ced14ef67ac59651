"""What a cluster says, as frozen types: connectors with their tasks, offsets, the verdict of an offset change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

Json = Any

# Failures first, then what is on its way, then what runs, then what somebody put to rest.
SEVERITY = ("FAILED", "UNASSIGNED", "RESTARTING", "UNKNOWN", "RUNNING", "PAUSED", "STOPPED", "DESTROYED")
_RANK = {state: rank for rank, state in enumerate(SEVERITY)}


class Task(NamedTuple):
    """One task's status; `trace` is empty unless it failed."""

    id: int
    state: str
    worker: str = ""
    version: str = ""
    trace: str = ""


class Connector(NamedTuple):
    """A connector with all its status. `state` is the connector's own; `overall` counts its tasks in."""

    name: str
    type: str = "unknown"
    state: str = "UNKNOWN"
    tasks: tuple[Task, ...] = ()
    worker: str = ""
    version: str = ""
    trace: str = ""
    config: Mapping[str, str] = {}

    @property
    def cls(self) -> str:
        return self.config.get("connector.class", "")

    @property
    def short_class(self) -> str:
        return self.cls.rpartition(".")[2]

    @property
    def running(self) -> int:
        return [task.state for task in self.tasks].count("RUNNING")

    @property
    def failed(self) -> int:
        return [task.state for task in self.tasks].count("FAILED")

    @property
    def overall(self) -> str:
        """FAILED as soon as a task is; UNASSIGNED or RESTARTING as soon as a task of a running connector is."""
        states = {task.state for task in self.tasks}
        if "FAILED" in states:
            return "FAILED"
        if self.state == "RUNNING":
            for state in ("UNASSIGNED", "RESTARTING"):
                if state in states:
                    return state
        return self.state

    @property
    def tasks_text(self) -> str:
        """`running/total`, failures in words: `1/3, 2 failed`."""
        text, failed = f"{self.running}/{len(self.tasks)}", self.failed
        return f"{text}, {failed} failed" if failed else text

    @property
    def severity(self) -> tuple[int, str]:
        """A sort key: failures first, names within a state."""
        return _RANK.get(self.overall, _RANK["UNKNOWN"]), self.name

    @property
    def traces(self) -> str:
        """The connector's trace and its tasks', each under its heading."""
        parts = [("connector", self.trace), *((f"task {task.id}", task.trace) for task in self.tasks)]
        return "\n\n".join(f"{heading}:\n{trace.rstrip()}" for heading, trace in parts if trace)

    def is_in(self, state: str) -> bool:
        """Whether it has arrived in a state, tasks and all: RUNNING wants a task, and all of them running;
        STOPPED wants no task entries left; FAILED is met by any failure."""
        if state == "FAILED":
            return self.overall == "FAILED"
        if self.state != state:
            return False
        if state == "RUNNING":
            return bool(self.tasks) and self.running == len(self.tasks)
        if state == "STOPPED":
            return not self.tasks
        return all(task.state == state for task in self.tasks)


def connector(name: str, status: Json, info: Json = None) -> Connector:
    """From a status body and an info body; either may be missing for a moment after a change."""
    status, info = status or {}, info or {}
    own = status.get("connector") or {}
    return Connector(
        name=name,
        type=str(status.get("type") or info.get("type") or "unknown").lower(),
        state=own.get("state") or "UNKNOWN",
        tasks=tuple(sorted((_task(entry) for entry in status.get("tasks") or ()), key=lambda task: task.id)),
        worker=own.get("worker_id") or "",
        version=own.get("version") or "",
        trace=own.get("trace") or "",
        config=info.get("config") or {},
    )


def _task(entry: Json) -> Task:
    trace = entry.get("trace") if entry.get("state") == "FAILED" else ""  # RESTARTING still carries the old one
    return Task(
        id=entry["id"],
        state=entry.get("state") or "UNKNOWN",
        worker=entry.get("worker_id") or "",
        version=entry.get("version") or "",
        trace=trace or "",
    )


def connectors(expanded: Mapping[str, Json]) -> dict[str, Connector]:
    """From the answer of `?expand=status&expand=info`."""
    return {name: connector(name, part.get("status"), part.get("info")) for name, part in expanded.items()}


def by_severity(all_of_them: Iterable[Connector]) -> list[Connector]:
    return sorted(all_of_them, key=lambda one: one.severity)


class Offset(NamedTuple):
    """One entry of an offsets answer; `offset` None means reset when it is sent."""

    partition: Json
    offset: Json

    @property
    def is_sink(self) -> bool:
        return isinstance(self.partition, dict) and self.partition.keys() == {"kafka_topic", "kafka_partition"}

    def entry(self) -> dict[str, Json]:
        return {"partition": self.partition, "offset": self.offset}


def offsets(answer: Json) -> tuple[Offset, ...]:
    """From `{"offsets": [{"partition", "offset"}]}`, sorted, since the server's order means nothing."""
    entries = (Offset(entry.get("partition"), entry.get("offset")) for entry in answer.get("offsets") or ())
    return tuple(sorted(entries, key=_partition_order))


def _partition_order(entry: Offset) -> tuple[Any, ...]:
    if entry.is_sink and isinstance(entry.partition["kafka_partition"], int):
        return (str(entry.partition["kafka_topic"]), entry.partition["kafka_partition"], "")
    return ("", 0, str(entry.partition))


class Certainty(Enum):
    """How much a success of an offset change is worth."""

    DEFINITE = "definite"
    POSSIBLE = "possible"


class Verdict(NamedTuple):
    """The server's answer to an offset change, word for word, and what it means (KIP-875)."""

    certainty: Certainty
    message: str

    @property
    def by_hand(self) -> str:
        """What is left to do, empty after a definite success."""
        if self.certainty is Certainty.DEFINITE:
            return ""
        return (
            "possible success: the connector did not say that it took the change. If it keeps offsets in a system "
            "of its own, change them there by hand before it is resumed"
        )


def verdict(answer: Json) -> Verdict:
    """A message that is not exactly a definite one is never taken for one."""
    message = str((answer or {}).get("message", ""))
    definite = (
        "The offsets for this connector have been altered successfully",
        "The offsets for this connector have been reset successfully",
    )
    return Verdict(Certainty.DEFINITE if message.rstrip(".") in definite else Certainty.POSSIBLE, message)
