"""The move from Apache's workers before 4.0 to ours and back, as `headrace migrate check` describes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.java.connect_versions import connect_worker
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", ["3.6.2", "3.9.1"])
def test_the_move_and_back_with_the_same_topics(version: str, broker: KafkaBroker, tmp_path: Path) -> None:
    """Connectors, states and offsets are those of the other kind of worker, so that each line is copied once."""
    topic, lines, copy, paused = broker.create_topic(), unique("lines"), unique("copy"), unique("paused")
    data, copied = tmp_path / "lines.txt", tmp_path / "copy.txt"
    source = {"connector.class": SOURCE, "file": str(data), "topic": topic, "tasks.max": "1", **STRINGS}
    data.write_text("one\n")
    apache = connect_worker(tmp_path, broker.bootstrap, version)
    same = {key: value for key, value in apache.properties.items() if key != "listeners"}
    ours = our_worker(tmp_path, broker.bootstrap, same)

    def add(line: str) -> None:
        with data.open("a") as file:
            file.write(f"{line}\n")
        wait_until(lambda: line in copied.read_text().splitlines(), 120, line)

    apache.start(180)
    try:
        before = Connect(apache)
        before.create(lines, source)
        before.create(
            copy, {"connector.class": SINK, "file": str(copied), "topics": topic, "tasks.max": "1", **STRINGS}
        )
        before.create(paused, {**source, "file": str(tmp_path / "none")})
        before.put(paused, "pause")
        before.wait(paused, "PAUSED")
        wait_until(lambda: copied.exists() and copied.read_text() == "one\n", 120, "the first line")
        add("two")
        apache.stop()

        ours.start(180)
        now = Connect(ours)
        now.wait(lines, "RUNNING", ["RUNNING"])
        now.wait(copy, "RUNNING", ["RUNNING"])
        assert now.states(paused)[0] == "PAUSED"
        add("three")
        ours.stop()

        apache.start(180)
        before.wait(lines, "RUNNING", ["RUNNING"], 120)
        assert before.states(paused)[0] == "PAUSED"
        add("four")
        assert copied.read_text().split() == ["one", "two", "three", "four"]
    finally:
        for worker in (apache, ours):
            if worker.running():
                worker.stop()
