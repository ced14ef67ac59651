"""Skipping the record with which a sink fails, on Apache's worker and ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess


@pytest.fixture(params=[pytest.param("java_connect", marks=pytest.mark.soak), "our_connect"])
def connect(request: pytest.FixtureRequest) -> Connect:
    worker: WorkerProcess = request.getfixturevalue(request.param)
    return Connect(worker)


@pytest.fixture
def console(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> Console:
    here = Console(connect.worker.url, tmp_path)
    here.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
    here(f"config set-context c --url {connect.worker.url} --bootstrap-servers {broker.bootstrap}")
    return here


@pytest.fixture
def sink(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> Iterator[str]:
    """A sink that has failed with its first two records; the third is fine, the fourth not."""
    name, topic = unique("stands"), broker.create_topic()
    broker.produce(topic, b"{no", b"\xff", b'{"n": 1}', b"}")
    config = {
        "connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": topic, "tasks.max": "1",
        "key.converter": STRING, **JSON_VALUES,
    }  # fmt: skip
    connect.create(name, config)
    connect.wait(name, "RUNNING", ["FAILED"])
    yield name
    connect.ask("DELETE", f"/connectors/{name}")


def test_poisoned_records_are_shown_saved_and_skipped(
    connect: Connect, console: Console, sink: str, tmp_path: Path
) -> None:
    def run(line: str, code: int = 0) -> str:
        result = console.in_context("c", line, code=code)
        return result.out + result.err

    topic = connect.ask("GET", f"/connectors/{sink}")["config"]["topics"]
    (shown,) = json.loads(console.in_context("c", f"get failing records {sink} -o json").out)
    assert (shown["offset"], shown["value"], shown["at_fault"], shown["before"]) == (0, "{no", True, 0)
    assert f"would set {topic}-0: none → offset 2" in run(f"skip record {sink} -n 2 --dry-run")
    assert connect.states(sink) == ("RUNNING", ["FAILED"])
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert f"skipped {topic}-0@0 to 1, saved to {first}" in run(f"skip record {sink} -n 2 -f {first}")
    saved = [json.loads(line) for line in first.read_text().splitlines()]
    assert [(line["offset"], line["value"]) for line in saved] == [(0, "{no"), (1, {"base64": "/w=="})]
    # The last record fails the batch, and with it the one before it, which is fine: it must not be skipped by accident.
    wait_until(lambda: connect.states(sink) == ("RUNNING", ["FAILED"]))
    refused = run(f"skip record {sink} -f {second}", code=4)
    assert f"the record at fault is {topic}-0@3, and 1 record of its batch before it" in refused
    run(f"patch connector {sink} -s consumer.override.max.poll.records=1")
    wait_until(lambda: (tmp_path / "out.txt").read_text() == "{n=1}\n")
    connect.wait(sink, "RUNNING", ["FAILED"])
    done = run(f"skip record {sink} -f {second} --settle 1s")
    assert f"skipped {topic}-0@3, saved to {second}; RUNNING, 1/1 tasks" in done
    assert f"no task of {sink} has failed: it is RUNNING" in run(f"skip record {sink}", code=1)
