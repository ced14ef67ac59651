"""Responses of a cluster as immutable types: connectors with their tasks, offsets, verdicts of offset changes.

Connector and Task share their names with the plugin API of `runtime.api`: both are Connect's own terms, here for the
REST API's view.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from sys import intern
from typing import Any, NamedTuple

from tui.errors import MalformedResponse

Json = Any

# Failures first, then transitional states, then RUNNING, then states that users chose.
SEVERITY = ("FAILED", "UNASSIGNED", "RESTARTING", "UNKNOWN", "RUNNING", "PAUSED", "STOPPED", "DESTROYED")
_RANK = {state: rank for rank, state in enumerate(SEVERITY)}


class Task(NamedTuple):
    """The status of a task; `trace` is empty unless the task has failed."""

    id: int
    state: str
    worker: str = ""
    version: str = ""
    trace: str = ""


class Connector(NamedTuple):
    """A connector with its status. `state` is the connector's own; `overall` includes its tasks. `task_configs` is the
    number of its tasks in the config topic: the status of a new task follows its config."""

    name: str
    type: str = "unknown"
    state: str = "UNKNOWN"
    tasks: tuple[Task, ...] = ()
    worker: str = ""
    version: str = ""
    trace: str = ""
    config: Mapping[str, str] = {}
    task_configs: int = 0

    @property
    def cls(self) -> str:
        """The connector's class."""
        return self.config.get("connector.class", "")

    @property
    def short_class(self) -> str:
        """The class without its package."""
        return self.cls.rpartition(".")[2]

    @property
    def running(self) -> int:
        """The number of running tasks."""
        return [task.state for task in self.tasks].count("RUNNING")

    @property
    def failed(self) -> int:
        """The number of failed tasks."""
        return [task.state for task in self.tasks].count("FAILED")

    @property
    def total(self) -> int:
        """The number of tasks, also of those that have no status yet."""
        return max(len(self.tasks), self.task_configs)

    @property
    def overall(self) -> str:
        """FAILED if any task is; UNASSIGNED or RESTARTING if any task of a RUNNING connector is; otherwise `state`."""
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
        """Running and total tasks, and failures: `1/3, 2 failed`."""
        text, failed = f"{self.running}/{self.total}", self.failed
        return f"{text}, {failed} failed" if failed else text

    @property
    def severity(self) -> tuple[int, str]:
        """A sort key: failures first, names within a state."""
        return _RANK.get(self.overall, _RANK["UNKNOWN"]), self.name

    @property
    def traces(self) -> str:
        """The traces of the connector and its tasks, each under a heading."""
        parts = [("connector", self.trace), *((f"task {task.id}", task.trace) for task in self.tasks)]
        return "\n\n".join(f"{heading}:\n{trace.rstrip()}" for heading, trace in parts if trace)

    def is_in(self, state: str) -> bool:
        """Whether the connector and all its tasks are in a state: RUNNING requires a task, STOPPED none;
        FAILED requires a failure."""
        if state == "FAILED":
            return self.overall == "FAILED"
        if self.state != state:
            return False
        if state == "RUNNING":
            return bool(self.tasks) and self.running == self.total
        if state == "STOPPED":
            return not self.total
        return all(task.state == state for task in self.tasks)


def connector(name: str, status: Json, info: Json = None) -> Connector:
    """A connector from its status and info; either may be missing briefly after a change. Raises MalformedResponse."""
    try:
        return _connector(name, _object(status), _object(info))
    except _Misfit as misfit:
        raise MalformedResponse(f"malformed status or info of {name}: {misfit}") from None


def _connector(name: str, status: Mapping[str, Json], info: Mapping[str, Json]) -> Connector:
    own = _object(status.get("connector"))
    return Connector(
        name=name,
        type=(_text(status.get("type")) or _text(info.get("type")) or "unknown").lower(),
        state=intern(_text(own.get("state"))) or "UNKNOWN",
        tasks=tuple(sorted((_task(_object(entry)) for entry in _tasks(status)), key=lambda task: task.id)),
        worker=intern(_text(own.get("worker_id"))),
        version=intern(_text(own.get("version"))),
        trace=_text(own.get("trace")),
        config=config_text(_object(info.get("config"))),
        task_configs=len(_tasks(info)),
    )


def _tasks(part: Mapping[str, Json]) -> Sequence[Json]:
    tasks = part.get("tasks") or ()
    if not isinstance(tasks, list | tuple):
        raise _Misfit(f"expected a list of tasks, got {tasks!r:.40}")
    return tasks


def _task(entry: Mapping[str, Json]) -> Task:
    number, state = entry.get("id"), _text(entry.get("state"))
    if type(number) is not int:
        raise _Misfit(f"expected the number of a task, got {number!r:.40}")
    # A RESTARTING task still has its old trace; for an UNASSIGNED one, Headrace reports why it does not start.
    trace = entry.get("trace") if state in ("FAILED", "UNASSIGNED") else ""
    worker, version = intern(_text(entry.get("worker_id"))), intern(_text(entry.get("version")))
    return Task(number, intern(state) or "UNKNOWN", worker, version, _text(trace))


class _Misfit(Exception):
    """The reason why a value has the wrong shape. Not checked by `tui.client.shapes`, for speed."""


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
    """A config with string values, as Connect stores it: without keys that are null, and other values as JSON. Values
    are interned, since those of a thousand connectors are mostly the same."""
    if all(type(value) is str for value in config.values()):
        return {key: intern(value) for key, value in config.items()}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return {key: text for key, text in texts.items() if config[key] is not None}


def topics_read(config: Mapping[str, str]) -> list[str]:
    """The topics that the config of a sink lists; empty if it has a pattern instead."""
    return [topic for part in config.get("topics", "").split(",") if (topic := part.strip())]


def connectors(expanded: Mapping[str, Json]) -> dict[str, Connector]:
    """The connectors of a response to `?expand=status&expand=info`, by name. Raises MalformedResponse."""
    return {name: connector(name, part.get("status"), part.get("info")) for name, part in expanded.items()}


def by_severity(connectors: Iterable[Connector]) -> list[Connector]:
    """Connectors sorted by state, failures first, then by name."""
    return sorted(connectors, key=lambda connector: connector.severity)


class Offset(NamedTuple):
    """An entry of an offsets response. In a request, `offset` None resets the partition."""

    partition: Json
    offset: Json

    @property
    def is_sink(self) -> bool:
        """Whether the entry has the form of a sink's: a topic partition and an offset."""
        if not isinstance(self.partition, dict) or self.partition.keys() != {"kafka_topic", "kafka_partition"}:
            return False
        topic, number = self.partition["kafka_topic"], self.partition["kafka_partition"]
        position = self.offset.get("kafka_offset") if isinstance(self.offset, dict) else self.offset
        return isinstance(topic, str) and type(number) is int and (not self.offset or type(position) is int)

    def entry(self) -> dict[str, Json]:
        """The entry as JSON."""
        return {"partition": self.partition, "offset": self.offset}


def offsets(response: Json) -> tuple[Offset, ...]:
    """The offsets of `{"offsets": [{"partition", "offset"}]}`, sorted; the server's order is arbitrary."""
    entries = (Offset(entry.get("partition"), entry.get("offset")) for entry in response.get("offsets") or ())
    return tuple(sorted(entries, key=_partition_order))


def _partition_order(entry: Offset) -> tuple[Any, ...]:
    if entry.is_sink:
        return (entry.partition["kafka_topic"], entry.partition["kafka_partition"], "")
    return ("", 0, str(entry.partition))


class Certainty(Enum):
    """Whether an offset change is known to have taken effect (KIP-875)."""

    DEFINITE = "definite"
    POSSIBLE = "possible"


class Verdict(NamedTuple):
    """The server's response to an offset change, and its meaning (KIP-875)."""

    certainty: Certainty
    message: str


def verdict(response: object) -> Verdict:
    """The verdict of a response: DEFINITE only for Connect's exact messages of success."""
    text = response.get("message") if isinstance(response, dict) else None
    message = text if isinstance(text, str) else "" if text is None else json.dumps(text)
    definite = (
        "The offsets for this connector have been altered successfully",
        "The offsets for this connector have been reset successfully",
    )
    return Verdict(Certainty.DEFINITE if message.rstrip(".") in definite else Certainty.POSSIBLE, message)
