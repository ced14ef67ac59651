"""Throughput of slots on one and on two executors of a standalone Spark cluster on this machine, of one core each.

python -m tests.bench.cluster [--lines 300000] [--dry]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import report
from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import SOURCE, STRINGS, Connect
from tests.support.engine.spark_cluster import SparkCluster
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

SOURCES = 4


def throughput(folder: Path, broker: EmbeddedBroker, cluster: SparkCluster, executors: int, lines: int) -> float:
    """Records a second of four FileStreamSources with lines of 100 bytes, from their creation to the last record."""
    own = {"spark.executor.cores": "1", "spark.cores.max": str(executors), "headrace.slots": str(executors)}
    with our_worker(folder, broker.bootstrap, {**cluster.properties, **own}).started(120) as worker:
        connect = Connect(worker)

        def slots_are_up() -> bool:
            return worker.log.read_text(errors="replace").count(" is up on ") >= executors

        wait_until(slots_are_up, 240, "all slots")
        topics = [broker.create_topic(partitions=1) for _ in range(SOURCES)]
        ends = [TopicEnds(broker.bootstrap, topic) for topic in topics]
        started = time.monotonic()
        for number, topic in enumerate(topics):
            config = {"connector.class": SOURCE, "file": str(folder / f"lines-{number}"), "topic": topic, **STRINGS}
            connect.create(unique("source"), {**config, "tasks.max": "1"})
        wait_until(lambda: sum(end.committed() for end in ends) >= SOURCES * lines, 300, "all records", every=0.1)
        return SOURCES * lines / (time.monotonic() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=300_000, help="of each source")
    parser.add_argument("--dry", action="store_true", help="do not write docs/benchmarks.md")
    given = parser.parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name:
        folder = Path(name)
        for number in range(SOURCES):
            text = "".join(f"{line:09d} {'x' * 89}\n" for line in range(given.lines))
            (folder / f"lines-{number}").write_text(text)
        broker = EmbeddedBroker(folder / "broker")
        broker.start()
        try:
            with SparkCluster(folder / "spark").started() as cluster:
                for executors in (1, 2):
                    rate = throughput(folder, broker, cluster, executors, given.lines)
                    found.append(f"| {executors} | {rate:,.0f} records/s | {report.busy()} |")
                    print(found[-1], flush=True)
        finally:
            broker.stop()
    if not given.dry:
        table = "\n".join(["| executors of one core | rate | load |", "| ---: | ---: | ---: |", *found])
        about = (
            f"Four file sources with {given.lines:,} lines each on a standalone Spark cluster (master and two workers)"
            f" on this machine, whose two cores the broker shares, {datetime.now(UTC):%Y-%m-%d}."
        )
        report.section("Spark executors", f"{about}\n\n{table}")


if __name__ == "__main__":
    main()
