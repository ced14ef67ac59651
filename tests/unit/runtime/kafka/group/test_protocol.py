"""Connect's group protocol against bytes that Apache Kafka Connect 4.3.0 wrote (recorded)."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.kafka.group.protocol import (
    CONNECTOR,
    Assignment,
    AssignmentError,
    Details,
    ProtocolError,
    WorkerMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
)

URL = "http://127.0.0.1:8083/"
LEADER = "worker-1-uuid"
OWNED = {"idle": (CONNECTOR,), "orders": (CONNECTOR, 0, 1, 2), "béta": (0,)}
WHOLE = Assignment(LEADER, URL, 42, OWNED, {"gone": (CONNECTOR, 0, 1)}, 300_000)

JAVA = {
    "metadata-v1-empty": "00010016687474703a2f2f3132372e302e302e313a383038332f0000000000000011ffffffff",
    "metadata-v2-empty": "00020016687474703a2f2f3132372e302e302e313a383038332f0000000000000011ffffffff",
    "assignment-v2": (
        "00020000000d776f726b65722d312d757569640016687474703a2f2f3132372e302e302e313a383038332f0000000000"
        "00002a00000003000469646c6500000001ffffffff00066f726465727300000004ffffffff0000000000000001000000"
        "02000562c3a974610000000100000000000000010004676f6e6500000003ffffffff0000000000000001000493e0"
    ),
    "assignment-v1": (
        "00010001000d776f726b65722d312d757569640016687474703a2f2f3132372e302e302e313a383038332f0000000000"
        "00002a00000003000469646c6500000001ffffffff00066f726465727300000004ffffffff0000000000000001000000"
        "02000562c3a9746100000001000000000000000000000000"
    ),
    "metadata-v2": (
        "00020016687474703a2f2f3132372e302e302e313a383038332f00000000000000110000008e00020000000d776f726b"
        "65722d312d757569640016687474703a2f2f3132372e302e302e313a383038332f000000000000002a00000003000469"
        "646c6500000001ffffffff00066f726465727300000004ffffffff000000000000000100000002000562c3a974610000"
        "000100000000000000010004676f6e6500000003ffffffff0000000000000001000493e0"
    ),
    "metadata-v0": "00000016687474703a2f2f3132372e302e302e313a383038332fffffffffffffffff",
    "assignment-v0": (
        "00000000000d776f726b65722d312d757569640016687474703a2f2f3132372e302e302e313a383038332f0000000000"
        "00002a00000003000469646c6500000001ffffffff00066f726465727300000004ffffffff0000000000000001000000"
        "02000562c3a974610000000100000000"
    ),
    "assignment-v2-nothing": "0002000000016c000175ffffffffffffffff000000000000000000000000",
}

ASSIGNMENTS = [
    ("assignment-v0", Assignment(LEADER, URL, 42, OWNED, version=0)),
    ("assignment-v1", Assignment(LEADER, URL, 42, OWNED, error=AssignmentError.CONFIG_MISMATCH, version=1)),
    ("assignment-v2", WHOLE),
    ("assignment-v2-nothing", Assignment("l", "u", -1)),
]
METADATA = [
    ("metadata-v0", WorkerMetadata(URL, -1, version=0)),
    ("metadata-v1-empty", WorkerMetadata(URL, 17, version=1)),
    ("metadata-v2-empty", WorkerMetadata(URL, 17)),
    ("metadata-v2", WorkerMetadata(URL, 17, WHOLE)),
]


@pytest.mark.parametrize(("name", "assignment"), ASSIGNMENTS)
def test_assignments_equal_those_of_java(name: str, assignment: Assignment) -> None:
    data = bytes.fromhex(JAVA[name])
    assert encode_assignment(assignment) == data
    assert decode_assignment(data) == assignment


@pytest.mark.parametrize(("name", "metadata"), METADATA)
def test_metadata_equals_that_of_java(name: str, metadata: WorkerMetadata) -> None:
    data = bytes.fromhex(JAVA[name])
    assert encode_metadata(metadata) == data
    assert decode_metadata(data) == metadata


def test_the_trailer_follows_the_bytes_that_java_reads() -> None:
    details = Details("0.1.0", 2, {"c": {"0": 0.75}}, True, {"pid": 7, "machine": "m"}, topics={"a": "b"})
    data = encode_metadata(WorkerMetadata(URL, 17, WHOLE, details))
    assert data.startswith(bytes.fromhex(JAVA["metadata-v2"]))
    assert decode_metadata(data).details == details


@pytest.mark.parametrize("rest", [b"\0", b"HDRC", b"HDRC[]", b'HDRC{"version":"1"}', b"XXXX{}"])
def test_unknown_trailing_bytes_are_ignored(rest: bytes) -> None:
    assert decode_metadata(bytes.fromhex(JAVA["metadata-v2"]) + rest).details is None


@pytest.mark.parametrize(("name", "_"), [*ASSIGNMENTS, *METADATA])
def test_truncated_bytes_are_refused(name: str, _: object) -> None:
    data = bytes.fromhex(JAVA[name])
    decode = decode_assignment if name.startswith("assignment") else decode_metadata
    for size in range(len(data)):
        with pytest.raises(ProtocolError):
            decode(data[:size])


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_no_other_error(data: bytes) -> None:
    for decode in (decode_assignment, decode_metadata):
        with contextlib.suppress(ProtocolError):
            decode(data)


def test_excessive_counts_are_refused_before_memory_is_allocated() -> None:
    nothing = bytes.fromhex(JAVA["assignment-v2-nothing"])
    at = nothing.index(b"\xff" * 8) + 8
    with pytest.raises(ProtocolError, match="2147483647 entries"):
        decode_assignment(nothing[:at] + b"\x7f\xff\xff\xff" + nothing[at + 4 :])


def test_loads_that_no_leader_can_add_are_left_out() -> None:
    data = encode_metadata(WorkerMetadata(URL, 1, None, Details("1", 2, {"c": {"0": 0.5, "1": -1.0, "x": 1.0}})))
    found = decode_metadata(data).details
    assert found is not None and found.loads == {"c": {"0": 0.5}}
