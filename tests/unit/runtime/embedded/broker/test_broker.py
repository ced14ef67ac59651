"""The broker after kill -9, and with an unusable port."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.errors import StartError
from runtime.embedded.processes.service import wait_ready
from runtime.java.jvm.java import find_java
from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.free_ports import free_port
from tests.support.waiting import soon, wait_until


def test_records_survive_kill_and_start(own_broker: EmbeddedBroker, tmp_path: Path) -> None:
    topic = own_broker.create_topic()
    own_broker.produce(topic, b"value")
    own_broker.kill()
    began = time.monotonic()
    own_broker.start()
    assert time.monotonic() - began < soon(10)
    assert _end_offset(own_broker.bootstrap, topic) == 1
    [metadata] = (tmp_path / "broker" / "data" / "__cluster_metadata-0").glob("*.log")
    wait_until(lambda: _is_left_alone(metadata), 20, "an idle broker that writes nothing")


def _is_left_alone(file: Path) -> bool:
    before = file.stat().st_size
    time.sleep(0.7)
    return file.stat().st_size == before


def test_an_unusable_port_is_reported(tmp_path: Path, broker: KafkaBroker) -> None:
    taken = int(broker.bootstrap.rpartition(":")[2])
    second = Broker(BrokerConfig(tmp_path / "second", taken, free_port()), find_java())
    try:
        second.start()
        with pytest.raises(StartError, match=r"ended with code 1: .*in use"):
            wait_ready((second,), 60)
    finally:
        second.stop()


def _end_offset(bootstrap: str, topic: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        offsets = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
        assert offsets is not None
        return int(offsets[1])
    finally:
        consumer.close()
