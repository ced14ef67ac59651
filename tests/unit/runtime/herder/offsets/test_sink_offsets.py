"""Offsets of sinks as clients write them."""

from typing import Any

import pytest

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.sink_offsets import parse_sink_offsets


def test_numbers_numeric_strings_and_null_are_accepted() -> None:
    entries = [
        ({"kafka_topic": "t", "kafka_partition": "1"}, {"kafka_offset": "3", "extra": 1}),
        ({"kafka_topic": "t", "kafka_partition": 0}, None),
        ({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": 4}),
    ]
    assert parse_sink_offsets(entries) == {("t", 1): 4, ("t", 0): None}


GOOD = {"kafka_topic": "t", "kafka_partition": 0}


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        (None, {"kafka_offset": 1}, "cannot be null or missing"),
        ({"topic": "t", "partition": 0}, None, "must contain the keys 'kafka_topic' and 'kafka_partition'"),
        ({"kafka_topic": None, "kafka_partition": 0}, None, "topic names must be valid strings"),
        ({"kafka_topic": "t", "kafka_partition": None}, None, "partitions must be valid numbers"),
        ({"kafka_topic": "t", "kafka_partition": "x"}, None, "partition value in the provided offsets: 'x'"),
        ({"kafka_topic": "t", "kafka_partition": 0.5}, None, "partition value in the provided offsets: '0.5'"),
        ({"kafka_topic": "t", "kafka_partition": True}, None, "partition value in the provided offsets: 'true'"),
        ({"kafka_topic": "t", "kafka_partition": -1}, None, "must not be negative"),
        (GOOD, {}, "should either be null or contain the key 'kafka_offset'"),
        (GOOD, {"kafka_offset": None}, "offset value in the provided offsets: 'null'"),
        (GOOD, {"kafka_offset": 1.5}, "offset value in the provided offsets: '1.5'"),
        (GOOD, {"kafka_offset": [1]}, "offset value in the provided offsets"),
        (GOOD, {"kafka_offset": -1}, "must not be negative"),
        (GOOD, {"kafka_offset": 2**63}, "offset value in the provided offsets: '9223372036854775808'"),
        (GOOD, {"kafka_offset": " 1"}, "offset value in the provided offsets: ' 1'"),
        ({"kafka_topic": "t", "kafka_partition": 2**31}, None, "partition value in the provided offsets: '2147483648'"),
    ],
)
def test_invalid_offsets_are_refused(partition: Any, offset: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        parse_sink_offsets([(partition, offset)])
