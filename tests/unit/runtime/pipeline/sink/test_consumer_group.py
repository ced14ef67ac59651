"""The metadata of a consumer's group, as librdkafka serializes it."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer

from runtime.api.errors import ConnectError
from runtime.pipeline.sink.consumer_group import ConsumerGroup, GroupMetadata, read_metadata
from runtime.pipeline.sink.sink_context import SinkContext


@pytest.mark.parametrize("instance", [None, "instance-1"])
def test_the_client_s_format_is_read(instance: str | None) -> None:
    settings: dict[str, Any] = {"bootstrap.servers": "127.0.0.1:1", "group.id": "connect-sink", "log_level": 0}
    consumer = Consumer(settings | ({"group.instance.id": instance} if instance else {}))
    assert ConsumerGroup(consumer, SinkContext({}).position).metadata() == GroupMetadata(
        "connect-sink", -1, "", instance
    )
    consumer.close()


def test_a_member_with_its_generation() -> None:
    data = b"CGMDv2:" + (7).to_bytes(4, "little") + b"group\0member-1\0\1"
    assert read_metadata(data) == GroupMetadata("group", 7, "member-1", None)


def test_another_format_is_refused() -> None:
    with pytest.raises(ConnectError, match="another format of group metadata"):
        read_metadata(b"CGMDv3:what")
