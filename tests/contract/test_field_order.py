"""The fields of each answer have the order of Apache Connect's, as returned by a worker of each kind."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SOURCE, STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

DATA = ("config", "offset", "partition")  # maps from users, which Java shows in hash order

Shape = Any
"""Names of fields in their order, nested; a list has the shape of its first entry."""


def shape(answer: Any) -> Shape:
    if isinstance(answer, dict):
        return [(key, None if key in DATA else shape(value)) for key, value in answer.items()]
    return [shape(answer[0])] if isinstance(answer, list) and answer else None


def answers(connect: Connect, source: str, sink: str, file: Path, topic: str) -> dict[str, Shape]:
    """The shape of the answer to each request, without names of connectors as keys."""
    config = {"connector.class": SOURCE, "file": str(file), "topic": topic, "tasks.max": "1", **STRINGS}
    found: dict[str, Shape] = {}

    def ask(method: str, path: str, body: Any = None) -> Any:
        _, answer = connect.request(method, path, body)
        found[f"{method} {path}"] = shape(answer)
        return answer

    ask("POST", "/connectors", {"name": source, "config": config})
    connect.wait(source, "RUNNING", ["RUNNING"])
    connect.sink(sink, str(file.with_suffix(f".{sink}")), topic)
    ask("GET", "/")
    ask("GET", "/health")
    for name in (source, sink):
        wait_until(partial(connect.offsets, name), 90, f"offsets of {name}")
        for path in ("", "/status", "/tasks", "/tasks/0/status", "/offsets"):
            ask("GET", f"/connectors/{name}{path}")
    ask("PUT", f"/connectors/{source}/config", config)
    ask("POST", f"/connectors/{source}/restart?includeTasks=true")
    ask("PUT", f"/connector-plugins/{SOURCE}/config/validate", config)
    ask("GET", "/connector-plugins")
    ask("GET", f"/connector-plugins/{SOURCE}/config")
    ask("GET", "/connectors/nobody")
    ask("PATCH", f"/connectors/{source}/offsets", {"offsets": []})
    expanded = connect.ask("GET", "/connectors?expand=status&expand=info")[source]
    found["expanded"] = shape(expanded)
    found["topics"] = shape(connect.ask("GET", f"/connectors/{source}/topics")[source])
    for name in (source, sink):  # Apache's worker answers 409 while it rebalances
        wait_until(partial(_is_deleted, connect, name), 60, f"{name} is deleted", every=0.2)
    return found


def _is_deleted(connect: Connect, name: str) -> bool:
    return connect.request("DELETE", f"/connectors/{name}")[0] in (204, 404)


@pytest.mark.slow
def test_fields_have_the_order_of_apache_connect(
    our_connect: WorkerProcess, java_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    source, sink, topic = unique("source"), unique("sink"), broker.create_topic()
    file = tmp_path / "in.txt"
    file.write_text("one\n")
    ours, javas = (answers(Connect(side), source, sink, file, topic) for side in (our_connect, java_connect))
    assert ours == javas
