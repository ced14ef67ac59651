"""Offsets of any JSON values survive GET → PATCH → GET."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.connect import STRINGS, Connect

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_VALUES = st.recursive(
    _LEAVES | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(_TEXT, _VALUES, max_size=5)


@pytest.fixture(autouse=True)
def connector(connect: Connect) -> None:
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": "t", "tasks.max": "1", **STRINGS}
    connect.create("c", config, initial_state="STOPPED")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(partition=_OBJECTS, offset=_OBJECTS)
def test_offsets_are_returned_as_they_were_given(
    connect: Connect, partition: dict[str, Any], offset: dict[str, Any]
) -> None:
    connect.ask("DELETE", "/connectors/c/offsets")
    connect.alter("c", (partition, offset))
    (found,) = connect.offsets("c")
    assert _typed(found) == _typed({"partition": partition, "offset": offset})
    connect.ask("PATCH", "/connectors/c/offsets", {"offsets": [found]})
    assert [_typed(entry) for entry in connect.offsets("c")] == [_typed(found)]


_BAD_LEAVES = st.sampled_from(
    [
        str(2**63),
        str(-(2**63) - 1),
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        '"\\ud800"',
        '"a\\udfff"',
        "01",
        "tru",
        "[" * 120,
    ]
)
_AROUND = st.sampled_from(['{"a":%s}', '{"a":[1,%s]}', '{"a":{"b":[{"c":%s}]}}', '{"ok":1,"bad":%s}'])
_NO_OBJECTS = st.sampled_from(["1", '"text"', "[]", "true", "1.5"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bad=st.builds(lambda around, leaf: around % leaf, _AROUND, _BAD_LEAVES) | _NO_OBJECTS, in_offset=st.booleans())
def test_other_values_are_refused_with_400_and_nothing_is_written(connect: Connect, bad: str, in_offset: bool) -> None:
    connect.ask("DELETE", "/connectors/c/offsets")
    connect.alter("c", ({"a": 1}, {"n": 1}))
    good = '{"partition":{"a":1},"offset":{"n":2}}'
    wrong = '{"partition":{"a":2},"offset":%s}' if in_offset else '{"partition":%s,"offset":{"n":2}}'
    body = ('{"offsets":[' + good + "," + wrong % bad + "]}").encode()
    request = urllib.request.Request(
        f"{connect.worker.url}/connectors/c/offsets", body, {"Content-Type": "application/json"}, method="PATCH"
    )
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(request, timeout=30)
    assert refusal.value.code == 400
    assert json.loads(refusal.value.read())["message"]
    assert connect.offsets("c") == [{"partition": {"a": 1}, "offset": {"n": 1}}]


def _typed(value: Any) -> Any:
    """A text that distinguishes 1, 1.0 and true, and -0.0 and 0.0."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return type(value), repr(value)
