"""A Kafka broker inside this process: the mock cluster of librdkafka, which speaks Kafka's protocol on a real socket.

It starts in milliseconds and needs no Java. Created with librdkafka's C functions (rdkafka_mock.h), since the Python
client can create it but not configure it."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

_PRODUCER = 0  # rd_kafka_type_t; any client can own the cluster
_LOG_NOTHING = b"0"


class MockBroker:
    """One broker. Topics are created on demand."""

    def __init__(self) -> None:
        from runtime.api.errors import ConnectError

        self._library = library = _library()
        reason = ctypes.create_string_buffer(512)
        conf = library.rd_kafka_conf_new()
        library.rd_kafka_conf_set(conf, b"log_level", _LOG_NOTHING, reason, len(reason))
        library.rd_kafka_conf_set(conf, b"bootstrap.servers", b"127.0.0.1:1", reason, len(reason))
        self._owner = library.rd_kafka_new(_PRODUCER, conf, reason, len(reason))
        if not self._owner:
            raise ConnectError(f"librdkafka cannot create a client: {reason.value.decode()}")
        self._cluster = library.rd_kafka_mock_cluster_new(self._owner, 1)
        library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.bootstrap: str = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create_topic(self, name: str) -> None:
        """Create a topic with one partition."""
        self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), 1, 1)

    def close(self) -> None:
        """End the broker; its records are lost."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._owner)

    def __enter__(self) -> MockBroker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _library() -> Any:
    """The librdkafka that the Python client is linked with."""
    from confluent_kafka import cimpl

    library = ctypes.CDLL(cimpl.__file__)
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("rd_kafka_conf_new", pointer, []),
        ("rd_kafka_conf_set", number, [pointer, text, text, text, ctypes.c_size_t]),
        ("rd_kafka_new", pointer, [number, pointer, text, ctypes.c_size_t]),
        ("rd_kafka_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
        ("rd_kafka_mock_cluster_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
        ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
        ("rd_kafka_mock_group_initial_rebalance_delay_ms", None, [pointer, ctypes.c_int32]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
