"""Keys and values of storage records: the bytes that Java workers would have written."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api.errors import DataError
from runtime.converters.json.text import dumps
from runtime.kafka.formats import canonical, compact, java_copied, java_ordered, offset_key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=30,
)


def test_key_recorded_from_apache() -> None:
    """The partition was given as x, n, a."""
    assert offset_key("c", {"x": "ü", "n": 1, "a": None}) == '["c",{"a":null,"x":"ü","n":1}]'.encode()


@pytest.mark.parametrize("write", [compact, dumps])
def test_many_small_values_take_little_memory(write: Callable[[object], bytes]) -> None:
    """Offsets of a connector and records of a batch are held together; an object of orjson takes 4 kB."""
    tracemalloc.start()
    values = [write({"position": n}) for n in range(1_000)]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 200 * len(values)


def test_null_partition_and_value_recorded_from_apache() -> None:
    assert offset_key("c", None) == b'["c",null]'
    assert compact(java_ordered({"position": 3, "n": None, "y": "z"})) == b'{"y":"z","position":3,"n":null}'


def test_the_format_is_that_of_java() -> None:
    """A Java worker looks up the offset by these bytes."""
    assert offset_key("c", {"filename": "/🙂\x1f"}) == b'["c",{"filename":"/\\uD83D\\uDE42\\u001F"}]'


def test_big_maps_use_a_bigger_table() -> None:
    """Thirteen keys make Java's table grow to 32 places: a..m and then A (65 & 31 = 1 = 97 & 31, after a)."""
    keys = [*"ponmlkjihgfedcba", "A"]
    assert list(java_ordered(dict.fromkeys(keys)))[:3] == ["a", "A", "b"]


@pytest.mark.parametrize("value", ["\ud800", "\x1f", "é", "日本", "🙂"])
def test_any_text_is_preserved(value: str) -> None:
    assert json.loads(compact({"k": value}).decode()) == {"k": value}


def test_canonical_is_equal_before_and_after_storage() -> None:
    """Python tasks may use numbers as keys; JSON has only strings."""
    given = {1: "ü", 2: None}
    assert canonical(given) == canonical(json.loads(compact(given)))


@pytest.mark.parametrize("more", [{}, {"big": 1 << 70}])
def test_bytes_are_base64_recorded_from_apache(more: dict[str, int]) -> None:
    """And text when they are read; also beside integers for which another library is used."""
    assert offset_key("c", {"p": b"\x01\xff"}) == b'["c",{"p":"Af8="}]'
    given = {"at": b"\x02\xff\xfe", **more}
    assert json.loads(compact(given)) == {"at": "Av/+", **more}
    assert canonical(given) == canonical(json.loads(compact(given)))


def test_other_values_are_refused() -> None:
    for write in (compact, canonical):
        with pytest.raises(DataError, match="A value of class Decimal cannot be stored"):
            write({"at": Decimal(1)})


def test_canonical_distinguishes_types_of_numbers() -> None:
    assert len({canonical({"n": n}) for n in (1, 1.0, True, "1", None)}) == 5


@given(JSON)
def test_java_order_changes_only_the_order_of_keys(value: object) -> None:
    assert java_ordered(value) == value
    assert canonical(java_ordered(value)) == canonical(value)
    assert compact(java_ordered(java_ordered(value))) == compact(java_ordered(value))


def test_a_copied_java_map_has_fewer_buckets() -> None:
    config = dict.fromkeys(("zeta", "topic", "file", "alpha", "name"))
    assert list(java_copied(config)) == ["zeta", "name", "topic", "file", "alpha"]
    longer = dict.fromkeys(("zeta", "topic", "file", "alpha", "connector.class", "name"))
    assert list(java_copied(longer)) == ["zeta", "connector.class", "file", "alpha", "name", "topic"]
