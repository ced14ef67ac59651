"""The cost of idle Spark connectors: all share one session, and a source is a streaming query of Spark."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.process_usage import usage
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

WATCH = 60.0  # seconds


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [0, 1, 20])
def test_idle_streaming_queries(count: int, worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    process = worker()
    connect, names = Connect(process), [unique("idle") for _ in range(count)]
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "one.json").write_text('{"id": 1}\n')
        config = {
            "connector.class": "SparkSource", "topic": broker.create_topic(), "spark.format": "json",
            "spark.path": str(folder), "spark.schema": "id BIGINT", "spark.checkpoint": str(tmp_path / "checkpoints"),
            **STRINGS,
        }  # fmt: skip
        connect.create(name, config)
    wait_until(lambda: all(map(connect.offsets, names)), 300, "the first batch of each source", every=1)
    time.sleep(40)  # until compilers of the JVM are done, and each query has been triggered a few times
    before = usage(process.pid)
    time.sleep(WATCH)
    after = usage(process.pid)
    cpu = (after.cpu - before.cpu) / WATCH
    print(f"{count} queries: {after.pss / 1e6:.0f} MB, {cpu * 100:.1f} % of a core, {after.processes} processes")
    assert after.pss < 1.5e9
    assert cpu < 0.5
