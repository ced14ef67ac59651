"""`--settle` with connectors that fail a while after their restart, on Apache's worker and ours."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.console.script_console import Console, ScriptResult
from tests.support.workers import WorkerProcess

FINE, POISON = b'{"n": 1}', b"{no JSON"


@pytest.fixture(params=[pytest.param("java_connect", marks=pytest.mark.soak), "our_connect"])
def connect(request: pytest.FixtureRequest) -> Connect:
    worker: WorkerProcess = request.getfixturevalue(request.param)
    return Connect(worker)


class Sinks:
    """Sinks that fail with the first record that is not JSON: each so many seconds after a restart, or never (None)."""

    def __init__(self, connect: Connect, broker: KafkaBroker, folder: Path, seconds: Sequence[int | None]) -> None:
        self.connect, self.broker, self.prefix = connect, broker, unique("late-")
        self.topics = {second: broker.create_topic() for second in seconds}
        for second, topic in self.topics.items():
            broker.produce(topic, FINE)
            config = {
                "connector.class": "FileStreamSink", "file": str(folder / f"{topic}.txt"), "topics": topic,
                "key.converter": STRING, **JSON_VALUES, "tasks.max": "1",
            }  # fmt: skip
            connect.create(self.name(second), config)
        for second in seconds:
            connect.wait(self.name(second), "RUNNING", ["RUNNING"])
        if 0 in self.topics:  # fails again with the same record
            broker.produce(self.topics[0], POISON)
            connect.wait(self.name(0), "RUNNING", ["FAILED"])

    def name(self, second: int | None) -> str:
        return f"{self.prefix}{second}"

    def restarted(self, console: Console, *options: str) -> ScriptResult:
        """The result of a restart of all; each then meets its record in time."""
        with ThreadPoolExecutor(1) as pool:
            begun = time.monotonic()
            result = pool.submit(console, f"restart '{self.prefix}*' -t ALL -y {' '.join(options)} -o json", code=None)
            for second in filter(None, self.topics):
                time.sleep(max(0.0, begun + second - time.monotonic()))
                self.broker.produce(self.topics[second], POISON)
            return result.result(60)

    def delete(self) -> None:
        for second in self.topics:
            self.connect.ask("DELETE", f"/connectors/{self.name(second)}")


@pytest.fixture
def sinks(request: pytest.FixtureRequest, connect: Connect, broker: KafkaBroker, tmp_path: Path) -> Iterator[Sinks]:
    created = Sinks(connect, broker, tmp_path, request.param)
    yield created
    created.delete()


def failures(result: ScriptResult) -> dict[str, bool]:
    """By connector, whether it was reported as failed, with the cause."""
    for entry in result.json:
        assert "error" not in entry or re.search("but failed after .* s: FAILED, .*(Exception|Error): ", entry["error"])
    return {entry["name"]: "error" in entry for entry in result.json}


@pytest.mark.parametrize("sinks", [(0, 1)], indirect=True)
def test_connectors_that_fail_a_moment_after_a_restart(sinks: Sinks, tmp_path: Path) -> None:
    result = sinks.restarted(Console(sinks.connect.worker.url, tmp_path), "--settle 10s")
    assert result.code == 1 and failures(result) == {sinks.name(0): True, sinks.name(1): True}


@pytest.mark.soak
@pytest.mark.parametrize("sinks", [(0, 1, 3, 8, None)], indirect=True)
def test_connectors_that_fail_within_the_default_time(sinks: Sinks, tmp_path: Path) -> None:
    console = Console(sinks.connect.worker.url, tmp_path)
    console.environ.pop("HEADRACE_SETTLE")
    assert failures(sinks.restarted(console)) == {sinks.name(at): at is not None for at in sinks.topics}
