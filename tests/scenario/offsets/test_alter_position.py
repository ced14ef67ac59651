"""Tasks continue from altered offsets: a source at the exact line, a sink at the exact record (KIP-875)."""

from __future__ import annotations

from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until

DEFINITE = "The offsets for this connector have been altered successfully"


def test_a_source_continues_with_exactly_the_altered_line(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    lines = [f"Zeile {i} grün 日本" for i in range(1000)]
    file, topic = tmp_path / "in.txt", broker.create_topic()
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    connect.source("src", str(file), topic)
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 1000)
    connect.stop("src")
    end = file.stat().st_size
    assert connect.offsets("src") == [{"partition": {"filename": str(file)}, "offset": {"position": end}}]

    position = len("".join(f"{line}\n" for line in lines[:613]).encode())
    assert connect.alter("src", ({"filename": str(file)}, {"position": position})) == DEFINITE
    connect.resume("src")
    again = topics.values(broker.bootstrap, topic, 1387)[1000:]
    assert [v.decode() for v in again if v is not None] == lines[613:]
    wait_until(lambda: connect.offsets("src")[0]["offset"] == {"position": end})
    assert topics.count(broker.bootstrap, topic) == 1387


def test_a_sink_set_back_reads_exactly_the_expected_records_again(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    snk, topic, out = unique("snk"), broker.create_topic(partitions=2), tmp_path / "out.txt"
    for p in (0, 1):
        broker.produce(topic, *(f"p{p}-{i}" for i in range(500)), partition=p)
    connect.sink(snk, str(out), topic)
    wait_until(lambda: _lines(out) == 1000)
    connect.stop(snk)
    assert _positions(connect, snk) == {0: 500, 1: 500}

    assert connect.alter(snk, (_partition(topic, 0), {"kafka_offset": 450})) == DEFINITE
    assert _positions(connect, snk) == {0: 450, 1: 500}
    connect.resume(snk)
    wait_until(lambda: _lines(out) == 1050)
    connect.stop(snk)
    assert out.read_text().splitlines()[1000:] == [f"p0-{i}" for i in range(450, 500)]

    assert connect.alter(snk, (_partition(topic, 1), None)) == DEFINITE
    assert _positions(connect, snk) == {0: 500}
    connect.resume(snk)
    wait_until(lambda: _lines(out) == 1550)
    connect.stop(snk)
    assert out.read_text().splitlines()[1050:] == [f"p1-{i}" for i in range(500)]


def _partition(topic: str, number: int) -> dict[str, object]:
    return {"kafka_topic": topic, "kafka_partition": number}


def _positions(connect: Connect, name: str) -> dict[int, int]:
    return {e["partition"]["kafka_partition"]: e["offset"]["kafka_offset"] for e in connect.offsets(name)}


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0
