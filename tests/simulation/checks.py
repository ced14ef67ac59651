"""The invariants, checked at every step: what tasks do, what readers of committed records see, and what is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.model.task_spec import TaskSpec
from runtime.storage.configs import ConfigStore
from tests.simulation.kafka import Record
from tests.simulation.model import Connector, Models
from tests.simulation.slot import TaskRun
from tests.simulation.trace import Trace


class Checks:
    """Observes all slots and topics of a run."""

    def __init__(self, trace: Trace, models: Models, exactly_once: bool) -> None:
        self._trace, self._models, self._exactly_once = trace, models, exactly_once
        self.runs: dict[tuple[str, int], list[TaskRun]] = {}
        self.records: dict[str, int] = {}
        """Committed records, or puts of a sink, by connector."""
        self.configs: dict[str, ConfigStore] = {}
        """The config stores of the workers that run now."""
        self.unrevised: set[str] = set()
        """Connectors whose task configs an older worker has sent: the leader cannot tell if they are those of a deleted
        one."""

    # tasks

    def starts(self, worker: str, spec: TaskSpec) -> None:
        """A worker starts a task. It must not be one of a deleted connector, if the worker knows the next one of that
        name."""
        model, stored = self._models[spec.connector], self.configs[worker].connector(spec.connector)
        version, known = int(spec.config.get("version", 0)), int(stored.config.get("version", 0)) if stored else 0
        if version < model.created <= known and spec.connector not in self.unrevised:
            self._trace.violated(f"{worker} starts {spec.id} of the deleted connector, version {version}")

    def started(self, run: TaskRun) -> None:
        kind = "sink" if run.spec["type"] == "sink" else "exactly-once" if run.spec["transactional_id"] else "source"
        own = " with an own offset topic" if run.spec["offsets_copy_topic"] else ""
        self._trace.counts[f"start of a task: {kind}{own}"] += 1
        self._trace.add(f"{run.name} starts, version {run.spec['config'].get('version')}")
        self.runs.setdefault(run.key[:2], []).append(run)
        self._models[run.key[0]].latest_run = _number(run.name)

    def works(self, run: TaskRun) -> None:
        """A task is about to do its first work. One owner: no other run of the task may work."""
        runs = self.runs[run.key[:2]] = [other for other in self.runs[run.key[:2]] if not other.ended]
        if not _may_work(run):  # a frozen slot has not read the revocation yet; what it commits is checked, too
            return
        if others := [other.name for other in runs if other is not run and _may_work(other)]:
            self._trace.violated(f"two owners: {run.name} works beside {', '.join(others)}")

    def ended(self, run: TaskRun) -> None:
        self._trace.add(f"{run.name} ends")

    def active(self, connector: str) -> dict[int, str]:
        """The workers that run tasks of a connector now, by task."""
        return {
            task: run.host
            for (name, task), runs in self.runs.items()
            if name == connector
            for run in runs
            if _may_work(run)
        }

    # sources

    def committed(self, topic: str, records: Sequence[Record]) -> None:
        """Readers of committed records see these records now."""
        if topic == "configs":
            for record in records:
                key, value = (record.key or b"").decode(), record.value
                self._trace.add(f"config topic, {record.offset}: {key} {'is removed' if value is None else value!r}")
                self._stored(key, value)
        if topic == "statuses":
            for record in records:
                self._trace.add(f"status topic: {(record.key or b'').decode()} {_state(record.value)}")
        if topic.startswith("data-"):
            for record in records:
                self._source(json.loads(record.value or b"{}"))

    def _source(self, value: Mapping[str, Any]) -> None:
        name, part, number, version = value["c"], value["p"], value["n"], int(value["v"])
        model = self._models[name]
        order = model.orders.get(version, -1)
        self.records[name] = self.records.get(name, 0) + 1
        if self._exactly_once:
            self._exactly(model, part, number, value)
            if order < model.newest:
                newest = next(one for one, at in model.orders.items() if at == model.newest)
                self._trace.violated(f"{value['run']} with version {version} writes after version {newest}")
        elif not model.positions.at_least(part, number) and _number(value["run"]) > model.outdated:
            # An older run may have sent the record before the positions were changed: nothing fences its producer.
            self._trace.violated(f"records of {name} are lost before {part}/{number}, {value['run']}")
        if order > model.newest:
            model.newest = order
            self._trace.add(f"{name} writes records of version {version}")

    def _exactly(self, model: Connector, part: int, number: int, value: Mapping[str, Any]) -> None:
        expected = model.positions.expected(part)
        if not model.positions.exactly(part, number):
            self._trace.violated(f"{value['run']} commits record {part}/{number}, but {expected} is expected")

    # sinks

    def put(self, run: TaskRun, part: int, first: int, count: int) -> None:
        name = run.key[0]
        self.records[name] = self.records.get(name, 0) + count
        for number in range(first, first + count):
            if not self._models[name].positions.at_least(part, number):
                self._trace.violated(f"{run.name} puts {part}/{number}: records before it are lost")

    def sink_commit(self, run: TaskRun, positions: Mapping[tuple[str, int], int]) -> None:
        for (_, part), number in positions.items():
            if not self._models[run.key[0]].positions.has_put(part, number):
                self._trace.violated(f"{run.name} commits {part}/{number} before that was put")

    # requests

    def _stored(self, key: str, value: bytes | None) -> None:
        """Each change of a configuration or target state must be that of a request that is in force or under way."""
        found = None if value is None else json.loads(value)
        if key.startswith("connector-"):
            text = None if found is None else found["properties"].get("version")
            problem = self._models[key[len("connector-") :]].writes_config(text)
        elif key.startswith("target-state-"):
            text = None if found is None else found["state.v2"]
            problem = self._models[key[len("target-state-") :]].writes_target(text)
        else:
            return
        if problem:
            self._trace.violated(problem)


def _state(value: bytes | None) -> str:
    if value is None:
        return "is removed"
    found = json.loads(value)
    return f"is {found['state']} on {found['worker_id']}"


def _number(run: str) -> int:
    """Of a run, by its name."""
    return int(run.rpartition("#")[2])


def _may_work(run: TaskRun) -> bool:
    """A run whose worker has dropped its slot or sent a revocation works for a moment at most: that is the time of a
    message on the same machine."""
    link = run.slot.link
    if not run.active or link is None:
        return False
    known = next((t for (i, epoch), t in link.tasks.items() if (i.connector, i.task, epoch) == run.key), None)
    return known is None or known.revoked_at is None
