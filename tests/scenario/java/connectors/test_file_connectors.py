"""Kafka's own file connectors in slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.recipes import recipe
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def test_lines_pass_through_a_topic(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, source, sink = broker.create_topic(), unique("source"), unique("sink")
    read, written = tmp_path / "in.txt", tmp_path / "out.txt"
    read.write_text("".join(f"line {number}\n" for number in range(20_000)))
    connect.create(source, recipe("FileStreamSourceConnector", file=str(read), topic=topic))
    connect.create(sink, recipe("FileStreamSinkConnector", file=str(written), topics=topic))
    wait_until(lambda: written.exists() and written.stat().st_size >= read.stat().st_size, 60, every=0.1)
    connect.wait(source, "RUNNING", ["RUNNING"])
    wait_until(lambda: connect.offsets(source), 30)
    connect.stop(source)
    with read.open("a") as file:
        file.write("the last line ä\n")
    connect.resume(source)
    wait_until(lambda: written.read_text() == read.read_text(), 60, every=0.1)
    connect.stop(source)
    characters = len(read.read_text())  # the bundled source counts bytes, so this is Kafka's
    assert connect.offsets(source) == [{"partition": {"filename": str(read)}, "offset": {"position": characters}}]
    refused = connect.request("PATCH", f"/connectors/{source}/offsets", _offsets(str(read), -1))
    assert refused[0] >= 400 and "position" in refused[1]["message"], refused
    assert connect.alter(source, ({"filename": str(read)}, {"position": characters - len("the last line ä\n")}))
    connect.resume(source)
    wait_until(lambda: written.read_text() == f"{read.read_text()}the last line ä\n", 60, every=0.1)
    for name in (source, sink):
        connect.ask("DELETE", f"/connectors/{name}")


def _offsets(file: str, position: int) -> dict[str, object]:
    return {"offsets": [{"partition": {"filename": file}, "offset": {"position": position}}]}
