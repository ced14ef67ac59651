"""Tables of connectors that run side by side: records through transformations and converters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.parity.kafka import Produced
from tests.contract.parity.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Case:
    """Lines of a file or messages of a topic, additional configuration, and the number of records that pass. `output`:
    the topic of a source, if a transformation changes it."""

    label: str
    values: Sequence[Any]
    config: Mapping[str, str]
    count: int
    fails: bool = False
    output: Callable[[str], str] = lambda topic: topic

    @property
    def short(self) -> str:
        return re.sub(r"[^a-z0-9]+", "", self.label.lower())


def sources(c: Recorder, *cases: Case) -> None:
    """Lines through file sources into topics."""

    def create(case: Case) -> bool:
        topic = c.name(case.short)
        for name in {topic, case.output(topic)}:
            c.topic(name.removeprefix(c.id + "-"))
        return _created(c, case, {**c.source(case.short, topic, case.values), **case.config})

    for case in [case for case in cases if create(case)]:
        _record_failure(c, case)
        if case.count or not case.fails:
            topic = case.output(c.name(case.short))
            c.records(f"{case.label}: output", topic, case.count, extra=0.3 if case.count else 1.5)
    _delete(c, cases)


def sinks(c: Recorder, *cases: Case) -> None:
    """Messages of topics through file sinks."""

    def create(case: Case) -> bool:
        topic = c.topic(case.short)
        messages: Sequence[Produced] = case.values
        c.produce(topic, messages)
        return _created(c, case, {**c.sink(case.short, topic), **case.config})

    for case in [case for case in cases if create(case)]:
        _record_failure(c, case)
        c.lines(f"{case.label}: output", case.short + ".out", case.count)
    _delete(c, cases)


def _created(c: Recorder, case: Case, config: dict[str, Any]) -> bool:
    body = {"name": c.name(case.short), "config": config}
    return c.request(f"{case.label}: create", "POST", "/connectors", body).status_code == 201


def _record_failure(c: Recorder, case: Case) -> None:
    if case.fails:
        name = c.name(case.short)
        c.wait_state(name, "RUNNING", ["FAILED"], f"{case.label}: wait FAILED")
        status = c.json(f"/connectors/{name}/tasks/0/status")
        c.record(f"{case.label}: task status", kind="wait", ok=True, data=c.normalize(status))


def _delete(c: Recorder, cases: Sequence[Case]) -> None:
    for case in cases:
        c.call("DELETE", f"/connectors/{c.name(case.short)}")
