"""Throughput of one source and one sink task alone in this process, in records a second, with a running broker.

python -m tests.bench.pipeline HOST:PORT [--records 1000000] [--source CONVERTER] [--profile]
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.runner import TaskRunner
from tests.support.tasks.slot_host import RecordingHost

SOURCE = "runtime.connectors.file_source:FileStreamSourceTask"
SINK = "runtime.connectors.file_sink:FileStreamSinkTask"


def _spec(name: str, kind: str, task_class: str, converter: str, config: dict[str, str], **more: object) -> TaskSpec:
    made = ConverterSpec(converter, {"schemas.enable": "false"} if converter == "JsonConverter" else {})
    header = ConverterSpec("SimpleHeaderConverter")
    return TaskSpec(name, 0, 1, kind, task_class, config, made, made, header, flush_interval=1.0, **more)  # type: ignore[arg-type]


def _run(spec: TaskSpec, records: int, done: Callable[[], bool], profile: bool) -> float:
    """Seconds from the start of the task until `done()` is true."""
    host = RecordingHost()
    runner = TaskRunner(spec, host)
    run = runner.run
    if profile:
        import cProfile

        profiler = cProfile.Profile()
        run = lambda: profiler.runcall(runner.run)  # noqa: E731
    thread = threading.Thread(target=run, daemon=True)
    started, cpu = time.monotonic(), time.process_time()
    thread.start()
    while not done() and thread.is_alive():
        time.sleep(0.02)
    seconds = time.monotonic() - started
    used = time.process_time() - cpu
    runner.stop()
    thread.join()
    if host.trace:
        print(host.trace)
    print(f"{spec.type:6} {records / seconds:10,.0f} rec/s  {used / records * 1e6:.2f} µs of CPU a record")
    if profile:
        profiler.print_stats("tottime")
    return seconds


def _end(watcher: Any, partition: Any) -> int:
    """The end offset; 0 until the new topic has a leader."""
    from confluent_kafka import KafkaException

    try:
        return int(watcher.get_watermark_offsets(partition, timeout=5)[1])
    except KafkaException:
        return 0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("bootstrap")
    arguments.add_argument("--records", type=int, default=1_000_000)
    arguments.add_argument("--converter", default="StringConverter")
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--profile", action="store_true")
    given = arguments.parse_args()

    from confluent_kafka import Consumer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": given.bootstrap})
    watcher = Consumer({"bootstrap.servers": given.bootstrap, "group.id": "bench"})
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "in.txt"
        with lines.open("w") as out:
            out.writelines(f"{number:08d} {'x' * 89}\n" for number in range(given.records))
        for _ in range(given.runs):
            name = f"bench-{uuid.uuid4().hex[:8]}"
            topics = [name, f"{name}-offsets"]
            for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
                made.result()
            config = {"file": str(lines), "topic": name}
            client = {"bootstrap.servers": given.bootstrap}
            source = _spec(
                name, "source", SOURCE, given.converter, config, producer=client, offsets_topic=f"{name}-offsets"
            )
            partition = TopicPartition(name, 0)
            _run(source, given.records, lambda: _end(watcher, partition) >= given.records, given.profile)  # noqa: B023
            written = Path(folder) / f"{name}.txt"
            consumer = {**client, "group.id": f"connect-{name}"}
            sink = _spec(name, "sink", SINK, given.converter, {"file": str(written)}, consumer=consumer, topics=[name])
            size = lines.stat().st_size
            _run(sink, given.records, lambda: written.exists() and written.stat().st_size >= size, given.profile)  # noqa: B023
            assert written.read_bytes() == lines.read_bytes()
            written.unlink()
            for gone in admin.delete_topics(topics).values():
                gone.result()
    watcher.close()


if __name__ == "__main__":
    main()
