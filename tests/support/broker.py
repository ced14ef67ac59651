"""The tests' broker: the embedded one in its own folder, or the one that HEADRACE_TEST_BOOTSTRAP names."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.embedded.broker.broker import BROKER, Broker, BrokerConfig
from runtime.embedded.processes.service import wait_ready
from runtime.java.jvm.java import find_java
from tests.support.free_ports import free_port
from tests.support.processes import Startable
from tests.support.waiting import allowed


class KafkaBroker:
    """The address of a broker or of several, and topics on them."""

    replication = 1

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def create_topic(self, name: str | None = None, partitions: int = 1, **config: str) -> str:
        """Creates a topic, with a unique name unless given; config keys with `_` for dots.

        Records are kept: the broker checks every five minutes for those older than a week, which tests also write.
        """
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        topic = name or unique("topic")
        settings = {key.replace("_", "."): value for key, value in {"retention_ms": "-1", **config}.items()}
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.create_topics([NewTopic(topic, partitions, self.replication, config=settings)]).values():
            future.result(allowed(20))
        return topic

    def produce(self, topic: str, *values: bytes | str | None, partition: int = 0) -> None:
        """Writes records without keys, which are in the topic when this returns."""
        with self.writing() as write:
            for value in values:
                write(topic, value, partition=partition)

    @contextmanager
    def writing(self, linger_ms: int = 20) -> Iterator[Callable[..., None]]:
        """Producer.produce(), for records that are in their topics when the block ends."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": linger_ms, "log_level": 0})

        def write(*record: Any, **more: Any) -> None:
            while True:
                try:
                    return producer.produce(*record, **more)
                except BufferError:  # the queue is full
                    producer.poll(1)

        yield write
        assert producer.flush(allowed(300)) == 0

    def delete_topics(self, *names: str) -> None:
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for future in admin.delete_topics(list(names)).values():
            future.result(allowed(20))


class EmbeddedBroker(Startable, KafkaBroker):
    """A broker that belongs to one test, which may kill it and restart it on the same port."""

    def __init__(self, folder: Path, config: BrokerConfig | None = None, coordinates: Sequence[str] = BROKER) -> None:
        config = config or BrokerConfig(folder, free_port(), free_port())
        self._broker = Broker(config, find_java(), coordinates)
        super().__init__(config.bootstrap)

    @property
    def pid(self) -> int:
        pid = self._broker.pid
        assert pid is not None
        return pid

    @property
    def log(self) -> Path:
        return self._broker.log

    def start(self, timeout: float = 60.0, *, wait: bool = True) -> None:
        self._broker.start()
        if wait:
            self.wait_ready(timeout)

    def wait_ready(self, timeout: float = 60.0) -> None:
        wait_ready((self._broker,), allowed(timeout))

    def running(self) -> bool:
        return self._broker.running()

    def kill(self) -> None:
        """Sends SIGKILL."""
        self._broker.kill()

    def stop(self) -> None:
        self._broker.stop()

    def restart(self) -> None:
        self._broker.stop()
        self.start()


def unique(prefix: str) -> str:
    """A name that no other test uses."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"
