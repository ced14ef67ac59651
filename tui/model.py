"""What a cluster says, as frozen types: connectors with their tasks, offsets, the verdict of an offset change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from tui.errors import MalformedAnswer

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
    """A connector from its status and info; either may be missing briefly after a change. Raises MalformedAnswer."""
    try:
        return _connector(name, _object(status), _object(info))
    except _Misfit as misfit:
        raise MalformedAnswer(f"malformed status or info of {name}: {misfit}") from None


def _connector(name: str, status: Mapping[str, Json], info: Mapping[str, Json]) -> Connector:
    own = _object(status.get("connector"))
    tasks = status.get("tasks") or ()
    if not isinstance(tasks, list | tuple):
        raise _Misfit(f"expected a list of tasks, got {tasks!r:.40}")
    return Connector(
        name=name,
        type=(_text(status.get("type")) or _text(info.get("type")) or "unknown").lower(),
        state=_text(own.get("state")) or "UNKNOWN",
        tasks=tuple(sorted((_task(_object(entry)) for entry in tasks), key=lambda task: task.id)),
        worker=_text(own.get("worker_id")),
        version=_text(own.get("version")),
        trace=_text(own.get("trace")),
        config=config_text(_object(info.get("config"))),
    )


def _task(entry: Mapping[str, Json]) -> Task:
    number, state = entry.get("id"), _text(entry.get("state"))
    if type(number) is not int:
        raise _Misfit(f"expected the number of a task, got {number!r:.40}")
    trace = entry.get("trace") if state == "FAILED" else ""  # RESTARTING still carries the old one
    worker, version = _text(entry.get("worker_id")), _text(entry.get("version"))
    return Task(number, state or "UNKNOWN", worker, version, _text(trace))


class _Misfit(Exception):
    """Why a value has the wrong shape. Checked by hand, not with `tui.client.shapes`, since there are thousands of
    connectors."""


def _object(value: Json) -> Mapping[str, Json]:
    if value is None:
        return {}
    if type(value) is not dict:
        raise _Misfit(f"expected an object, got {value!r:.40}")
    return value


def _text(value: Json) -> str:
    if type(value) is str:
        return value
    if value is not None:
        raise _Misfit(f"expected a string, got {value!r:.40}")
    return ""


def config_text(config: Mapping[str, Json]) -> dict[str, str]:
    """A config as Connect stores it, strings by key: null means that the key is not set; other values become JSON
    text."""
    if all(type(value) is str for value in config.values()):
        return dict(config)
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return {key: text for key, text in texts.items() if config[key] is not None}


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
        """A partition of a topic, with or without a position."""
        if not isinstance(self.partition, dict) or self.partition.keys() != {"kafka_topic", "kafka_partition"}:
            return False
        topic, number = self.partition["kafka_topic"], self.partition["kafka_partition"]
        position = self.offset.get("kafka_offset") if isinstance(self.offset, dict) else self.offset
        return isinstance(topic, str) and type(number) is int and (not self.offset or type(position) is int)

    def entry(self) -> dict[str, Json]:
        return {"partition": self.partition, "offset": self.offset}


def offsets(answer: Json) -> tuple[Offset, ...]:
    """From `{"offsets": [{"partition", "offset"}]}`, sorted, since the server's order means nothing."""
    entries = (Offset(entry.get("partition"), entry.get("offset")) for entry in answer.get("offsets") or ())
    return tuple(sorted(entries, key=_partition_order))


def _partition_order(entry: Offset) -> tuple[Any, ...]:
    if entry.is_sink:
        return (entry.partition["kafka_topic"], entry.partition["kafka_partition"], "")
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
    said = answer.get("message") if isinstance(answer, dict) else None
    message = said if isinstance(said, str) else "" if said is None else json.dumps(said)
    definite = (
        "The offsets for this connector have been altered successfully",
        "The offsets for this connector have been reset successfully",
    )
    return Verdict(Certainty.DEFINITE if message.rstrip(".") in definite else Certainty.POSSIBLE, message)
