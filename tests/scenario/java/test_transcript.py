"""Plugins of every kind call what Connect's API offers, on Apache's worker and on ours: their transcripts are equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.transcript import SINK, SOURCE, chain, read, transcript_plugins
from tests.support.tasks.pipeline import produce
from tests.support.waiting import wait_until
from tests.support.workers import java_worker, our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

_ORDERS = {"plain": 1, "report": 1, "pause": 1, "timeout": 1, "rewind": 2, "next": 1, "retry": 2, "last": 1}
"""Values of records, and how often put() gets them."""

_ABORTED = "+commits: commitRecord {at=2} null"
"""Apache's worker does not call commitRecord() for records of a transaction that the task has aborted."""

_COMMITS = ("flush", "commit ")
"""How often these are called depends on time."""


@dataclass(frozen=True, slots=True)
class Side:
    """A worker, and the folder of its transcripts."""

    connect: Connect
    folder: Path

    def start(self, cls: str, **more: str) -> tuple[str, Path]:
        """Starts a connector that tells; returns its name and transcript."""
        name = unique("telling")
        config = {"connector.class": cls, "tasks.max": "2", **chain(self.folder / name)}
        self.connect.create(name, {**config, **{key.replace("__", "."): value for key, value in more.items()}})
        self.connect.wait(name, "RUNNING", ["RUNNING"], 120)
        return name, self.folder / name

    def stop(self, name: str) -> None:
        self.connect.ask("PUT", f"/connectors/{name}/stop")
        self.connect.wait(name, "STOPPED", [], 60)


@pytest.fixture(scope="module")
def sides(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Side]]:
    """Apache's worker and ours, with the same plugins."""
    started: list[Side] = []
    for make, name in ((java_worker, "apache"), (our_worker, "ours")):
        folder = tmp_path_factory.mktemp(name)
        more = {
            "plugin.path": transcript_plugins(), "offset.flush.interval.ms": "500",
            "exactly.once.source.support": "enabled",
        }  # fmt: skip
        worker = make(folder, broker.bootstrap, more)
        worker.start(wait=False)
        started.append(Side(Connect(worker), folder))
    for side in started:
        side.connect.worker.wait_healthy(180)
    yield started
    for side in started:
        side.connect.worker.stop()


def _same(scenario: Callable[[Side], dict[str, list[str]]], sides: list[Side], *known: str) -> None:
    """`known`: the lines that differ, as of diff."""
    apache, ours = (_lines(scenario(side)) for side in sides)
    different = [line for line in unified_diff(apache, ours, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")]
    assert different == list(known)


def _lines(parts: dict[str, list[str]]) -> list[str]:
    return [
        f"{part}: {text}"
        for part, told in sorted(parts.items())
        for text in told
        if not text.startswith(_COMMITS) and text != "commit"
    ]


def test_a_sink_with_its_chain(sides: list[Side], broker: KafkaBroker) -> None:
    def scenario(side: Side) -> dict[str, list[str]]:
        topic = broker.create_topic()
        letters = unique("letters")
        name, transcript = side.start(
            SINK, topics=topic, errors__tolerance="all", errors__deadletterqueue__topic__name=letters,
            errors__deadletterqueue__topic__replication__factor="1",
        )  # fmt: skip

        def puts() -> int:
            return sum(text.startswith("put ") for text in read(transcript).get("task", ()))

        expected = 0
        for order, times in _ORDERS.items():
            produce(broker, topic, order.encode())
            expected += times if order not in ("rewind", "retry") else times - 1  # an equal line is left out
            wait_until(lambda: puts() >= expected, 60, f"{order} on {side.connect.worker.url}")  # noqa: B023
            if order == "retry":
                wait_until(lambda: _times(transcript, "value converter", "to retry") >= 1, 30)
        side.connect.ask("PUT", f"/connectors/{name}/pause")
        side.connect.wait(name, "PAUSED", ["PAUSED"], 60)
        side.connect.ask("PUT", f"/connectors/{name}/resume")
        side.connect.wait(name, "RUNNING", ["RUNNING"], 60)
        side.stop(name)
        offset = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 1}}
        side.connect.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [offset]})
        side.connect.ask("DELETE", f"/connectors/{name}")
        return read(transcript)

    _same(scenario, sides)


@pytest.mark.parametrize("boundary", ["poll", "interval", "connector"])
def test_a_source_with_its_chain(sides: list[Side], broker: KafkaBroker, boundary: str) -> None:
    def scenario(side: Side) -> dict[str, list[str]]:
        topic = broker.create_topic()
        more: dict[str, Any] = {"exactly__once__support": "required", "transaction__boundary": boundary}
        name, transcript = side.start(SOURCE, topic=topic, **more)
        wait_until(lambda: _times(transcript, "commits", "commitRecord {at=4}") == 1, 60)
        side.stop(name)
        offset = {"partition": {"p": "a"}, "offset": {"at": 2}}
        side.connect.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [offset]})
        side.connect.ask("PUT", f"/connectors/{name}/resume")
        wait_until(lambda: _times(transcript, "commits", "commitRecord {at=4}") == 2, 60)
        side.stop(name)
        side.connect.ask("DELETE", f"/connectors/{name}")
        return read(transcript)

    _same(scenario, sides, *((_ABORTED,) if boundary == "connector" else ()))


def _times(transcript: Path, part: str, start: str) -> int:
    return sum(text.startswith(start) for text in read(transcript).get(part, ()))
