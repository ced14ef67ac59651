"""A cluster inside librdkafka: partitions without a leader and fatal errors, which a real broker cannot produce on
demand.

The cluster uses Kafka's protocol on a real socket; clients of this process connect as to any broker.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.support.broker import KafkaBroker, unique

_NO_LEADER, _LEADER = -1, 1
PRODUCE, LIST_OFFSETS, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 0, 2, 22, 24, 26  # API keys of requests


class MockKafka(KafkaBroker):
    """The test controls which partitions have a leader, which requests are refused, and which brokers are down."""

    def __init__(self, brokers: int = 1) -> None:
        self._library = _library()
        self._owner = Producer({"test.mock.num.brokers": brokers, "log_level": 0})
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_handle_mock_cluster(_handle(self._owner)))
        super().__init__(self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode())

    def create_topic(self, name: str | None = None, partitions: int = 1, **config: str) -> str:
        topic = name or unique("topic")
        assert not config
        assert not self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)
        return topic

    def lose_leader(self, topic: str) -> None:
        self._set_leader(topic, _NO_LEADER)

    def elect_leader(self, topic: str, broker: int = _LEADER) -> None:
        self._set_leader(topic, broker)

    def set_down(self, broker: int) -> None:
        """The broker ends its connections and accepts no others; it stays the leader of its partitions."""
        assert not self._library.rd_kafka_mock_broker_set_down(self._cluster, ctypes.c_int32(broker))

    def refuse(self, request: int, *codes: int) -> None:
        """Answers the next requests of this kind with these errors, one for each request."""
        errors = (ctypes.c_int * len(codes))(*codes)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._cluster, ctypes.c_int16(request), ctypes.c_size_t(len(codes)), errors
        )

    def _set_leader(self, topic: str, leader: int) -> None:
        """Of the first partition."""
        found = self._library.rd_kafka_mock_partition_set_leader(
            self._cluster, topic.encode(), ctypes.c_int32(0), ctypes.c_int32(leader)
        )
        assert not found


def _library() -> Any:
    """The librdkafka that the Python client has loaded."""
    loaded = Path("/proc/self/maps").read_text().splitlines()
    library = ctypes.CDLL(next(line.split()[-1] for line in loaded if "librdkafka" in line))
    library.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


def _handle(client: object) -> ctypes.c_void_p:
    """The rd_kafka_t of a Python client: the first field after the object's header."""
    return ctypes.c_void_p.from_address(id(client) + object.__basicsize__)
