"""Java's serialized map, written and read. tests/scenario/worker/test_standalone.py reads it with Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.storage import java_map

# Written by java.io.ObjectOutputStream on Java 17: key and value are the same array, the second value is null.
SHARED = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573"
    "686f6c6478703f4000000000000c77080000001000000002"
)


@given(st.dictionaries(st.binary(max_size=200), st.none() | st.binary(max_size=200), max_size=60))
def test_a_written_map_is_read_back(entries: dict[bytes | None, bytes | None]) -> None:
    assert java_map.decode(java_map.encode(entries)) == entries


def test_the_header_is_javas() -> None:
    assert java_map.encode({b"a": None, b"b": b"c"}).startswith(SHARED)


def test_a_repeated_array_is_read_twice() -> None:
    """Java writes an object once and refers to it afterwards."""
    written = java_map.encode({b"x": b"y"})
    value = b"\x75\x71\x00\x7e\x00\x02\x00\x00\x00\x01y"
    assert value in written
    assert java_map.decode(written.replace(value, b"\x71\x00\x7e\x00\x03")) == {b"x": b"x"}


def test_an_empty_file_is_an_empty_map() -> None:
    assert java_map.decode(b"") == {}


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_truncated_file_is_refused(cut: int) -> None:
    written = java_map.encode({b'["c",{"f":"x"}]': b'{"position":1}', b"k": b"v"})
    with pytest.raises(java_map.NotAJavaMap):
        java_map.decode(written[:-cut])


@pytest.mark.parametrize("other", [b'{"a": 1}', b"\xac\xed\x00\x05sr\x00\x13java.util.Hashtable" + b"\x00" * 80])
def test_other_files_are_refused(other: bytes) -> None:
    with pytest.raises(java_map.NotAJavaMap):
        java_map.decode(other)
