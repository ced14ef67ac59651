"""The row about latency: from a line written to a file to its readable record."""

from __future__ import annotations

import random
import threading
import time

from tests.bench.life import config
from tests.bench.sides import Bench, create, wait_running
from tests.support.broker import unique
from tests.support.connect import Connect

LINES = 100


def latency(bench: Bench, connect: Connect) -> dict[str, float]:
    """Milliseconds, p50 and p99 of 100 lines written at intervals of 20 to 400 ms."""
    from confluent_kafka import Consumer, TopicPartition

    name, topic = unique("latency"), bench.topic()
    file = bench.folder / f"{name}.txt"
    file.touch()
    create(connect, name, config(str(file), topic))
    wait_running(connect, name)
    consumer = Consumer(
        {"bootstrap.servers": bench.broker.bootstrap, "group.id": name, "fetch.wait.max.ms": 500, "fetch.min.bytes": 1}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    writer = threading.Thread(target=_write, args=(file,))
    writer.start()
    times: list[float] = []
    deadline = time.monotonic() + 180
    while len(times) < LINES and time.monotonic() < deadline:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            times.append((time.time() - float(message.value() or b"")) * 1000)
    writer.join()
    consumer.close()
    connect.ask("DELETE", f"/connectors/{name}")
    assert len(times) == LINES, f"{len(times)} of {LINES} lines arrived"
    times.sort()
    return {"latency-p50": times[LINES // 2], "latency-p99": times[LINES * 99 // 100 - 1]}


def _write(file: object) -> None:
    chance = random.Random(4)
    with open(str(file), "a") as out:  # noqa: PTH123
        for _ in range(LINES):
            time.sleep(chance.uniform(0.02, 0.4))
            out.write(f"{time.time():.6f}\n")
            out.flush()
