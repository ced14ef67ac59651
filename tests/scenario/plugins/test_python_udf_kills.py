"""headrace.PythonUdf in an exactly-once source, while slots and the worker are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import orjson
import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, Connect
from tests.support.kafka.committed import committed
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.packages.wheels import build_wheel
from tests.support.processes import children, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

COUNT = 40_000
COPIES = """\
import pyarrow as pa

def copies(batch):
    places = [place for place, n in enumerate(batch["n"].to_pylist()) for _ in range(n % 3)]
    return pa.Table.from_batches([batch]).take(pa.array(places, pa.int64()))
"""


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", ["shared", "environment"])
def test_the_results_of_a_function_arrive_once_and_in_order_after_kills(
    place: str, worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    """`environment`: the function runs in a process of its own environment."""
    module = f"udf_copies_{place}"
    folder = tmp_path / "plugins"
    if place == "environment":
        build_wheel(folder / "copies-1.0", module, "1.0", {f"{module}.py": COPIES})
    else:
        folder.mkdir()
        (folder / f"{module}.py").write_text(COPIES)
    process = worker({
        "exactly.once.source.support": "enabled", "headrace.slots": "2", "plugin.path": str(folder),
    })  # fmt: skip
    connect, name, topic = Connect(process), unique("copies"), broker.create_topic()
    connect.create(name, {
        "connector.class": "Datagen", "topic": topic, "fields": '{"n": "sequence"}', "count": str(COUNT),
        "rate": str(COUNT // 10), "batch.size": "50", "exactly.once.support": "required",
        **JSON_VALUES,
        "transforms": "u", "transforms.u.type": "headrace.PythonUdf", "transforms.u.function": f"{module}:copies",
    })  # fmt: skip
    expected = [n for n in range(COUNT) for _ in range(n % 3)]
    end = TopicEnds(broker.bootstrap, topic)

    def more(what: str) -> None:
        """Some more records have been committed."""
        before = end.committed()
        wait_until(lambda: end.committed() > before + 100, 60, what, every=0.02)

    more("first records")
    for kill in range(3):
        for slot in [pid for pid in children(process.pid) if is_slot(pid)]:
            os.kill(slot, signal.SIGKILL)
        more(f"records after kill {kill + 1} of slots")
    process.kill()
    at_kill = end.committed()
    assert at_kill < len(expected), "the source had ended before the kill"
    process.start()
    wait_until(lambda: len(committed(broker, topic)) >= len(expected), 120, "all records", every=0.5)
    assert [orjson.loads(message.value())["n"] for message in committed(broker, topic)] == expected
    connect.ask("DELETE", f"/connectors/{name}")
