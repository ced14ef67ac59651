"""Request bodies: accepted shapes, and the messages of refusals."""

import gzip
import json
from typing import Any

import pytest

from runtime.herder.errors import BadRequest
from runtime.model.states import TargetState
from runtime.rest.http import bodies


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_create_keeps_the_spelling_of_scalars() -> None:
    request = bodies.create_request(
        b'{"name":" a\\u0007 ","config":{"i":1,"f":1.50,"e":1e3,"b":true,"n":null,"s":"x"}}'
    )
    assert request.name == "a"
    assert request.config == {"i": "1", "f": "1.50", "e": "1e3", "b": "true", "n": None, "s": "x"}
    assert request.initial_state is None


@pytest.mark.parametrize(("state", "expected"), [("STOPPED", TargetState.STOPPED), ("running", TargetState.STARTED)])
def test_initial_state_in_any_case(state: str, expected: TargetState) -> None:
    assert bodies.create_request(body({"name": "a", "config": {}, "initial_state": state})).initial_state is expected


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "no body"),
        (b"{bad", "Malformed JSON in the request body: Expecting property name.* at line 1, column 2"),
        (b'{"a":NaN}', "NaN is not a JSON number"),
        (b"\xff", "not UTF-8"),
        (gzip.compress(b"{}", mtime=0), "compressed by gzip; send it uncompressed"),
        (b'{"name":"\xed\xa0\x80"}', "not UTF-8"),
        ('{"name":"\ud800"}'.encode("utf-16", "surrogatepass"), "not UTF-16"),
        (b"[" * 100_000, "nested too deeply"),
        (
            b'{"name":"a","config":{},"initial_offsets":[' + b"1" * 5000 + b"]}",
            "A number in the request body is too long",
        ),
        (b"[]", "must be a JSON object, not an array"),
        (b"null", "must be a JSON object, not null"),
        (body({"name": "a", "config": {}, "surprise": 1}), "unknown field 'surprise'"),
        (body({"name": {}, "config": {}}), "'name' must be a string"),
        (body({"name": "a"}), "no 'config'"),
        (body({"name": "a", "config": "x"}), "'config' must be a JSON object, not a string"),
        (body({"name": "a", "config": {"x": {}}}), "The value of 'x' in 'config' must be a string, not an object"),
        (body({"name": "a", "config": {}, "initial_state": "ASLEEP"}), "'ASLEEP'; expected RUNNING, PAUSED or STOPPED"),
        (body({"name": "a", "config": {}, "initial_state": 3}), "expected RUNNING"),
    ],
)
def test_invalid_create_requests_are_refused(raw: bytes, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        bodies.create_request(raw)


def test_missing_partitions_and_offsets_are_none() -> None:
    entries = bodies.offsets(body({"offsets": [{"partition": {"f": 1}}, {"offset": {"p": 2**70}}]}))
    assert entries == [({"f": 1}, None), (None, {"p": 2**70})]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "Partitions / offsets need to be provided"),
        ({"offsets": None}, "Partitions / offsets need to be provided"),
        ({"offsets": []}, "Partitions / offsets need to be provided"),
        ({"offsets": {}}, "'offsets' must be an array, not an object"),
        ({"offsets": [None]}, r"offsets\[0\] must be a JSON object, not null"),
        ({"offsets": [{"x": 1}]}, r"offsets\[0\] has the unknown field 'x'"),
        ({"offsets": [{"partition": "x"}]}, r"offsets\[0\].partition must be an object or null, not a string"),
        ({"offsets": [{"partition": {}, "offset": 5}]}, r"offsets\[0\].offset must be an object or null, not a number"),
    ],
)
def test_invalid_offsets_are_refused(value: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        bodies.offsets(body(value))


def test_an_unpaired_surrogate_is_refused() -> None:
    assert bodies.parse(b'{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
    with pytest.raises(BadRequest, match="unpaired surrogate"):
        bodies.parse(b'{"a": ["\\ud83d"]}')
