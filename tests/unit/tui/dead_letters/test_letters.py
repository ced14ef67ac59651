"""Dead letters: their headers, and how their bytes are shown and exported."""

from __future__ import annotations

import json

import pytest

from tui.dead_letters.brokers import DeadLetterTopic
from tui.dead_letters.letters import PREFIX, DeadLetter, connectors_of, exported
from tui.topics.byte_views import ByteView, best_view, shown

TRACE = (
    "a.b.DataException: Converting failed:\n\tat x\nCaused by: c.JsonParseException: Unrecognized token 'x'\n\tat y\n"
)


def letter(**fields: str) -> DeadLetter:
    headers = [
        ("own", b"1"),
        *((PREFIX + name.replace("_", "."), text.encode()) for name, text in fields.items()),
    ]
    return DeadLetter("dead", 1, 7, 0, b"k", b"v", tuple(headers))


def test_headers_give_origin_and_error() -> None:
    one = letter(topic="t", partition="2", offset="42", exception_stacktrace=TRACE, stage="VALUE_CONVERTER")
    assert one.origin == ("t", 2, 42) and one.id == "1/7"
    assert one.error == "JsonParseException: Unrecognized token 'x'", "the root cause"
    assert one.own_headers == [("own", b"1")]
    assert letter(exception_class_name="a.B", exception_message="no").error == "B: no"


def test_without_headers_origin_and_error_are_unknown() -> None:
    one = DeadLetter("dead", 0, 0)
    assert one.origin is None and one.error == "" and one.error_header("stage") == ""
    assert letter(topic="t", partition="x", offset="1").origin is None


def test_the_last_failure_counts() -> None:
    headers = [(PREFIX + "stage", b"KEY_CONVERTER"), (PREFIX + "stage", b"TASK_PUT"), (PREFIX + "topic", None)]
    assert DeadLetter("dead", 0, 0, headers=tuple(headers)).error_header("stage") == "TASK_PUT"


def test_a_letter_of_another_connector_is_recognized_by_its_header() -> None:
    one = letter(connector_name="orders-eu")
    assert one.may_be_of("orders-eu") and not one.may_be_of("orders-us")
    assert letter().may_be_of("orders-us"), "no header names a connector"
    assert connectors_of([one, letter(), letter(connector_name="a")]) == ["a", "orders-eu"]


@pytest.mark.parametrize(
    ("value", "view"),
    [
        (b'{"a": 1}', ByteView.JSON),
        (b"[1]", ByteView.JSON),
        (b"12", ByteView.TEXT),
        (b"text\n", ByteView.TEXT),
        (b"\x00\x01", ByteView.HEX),
        (b"\xff", ByteView.HEX),
        (None, ByteView.TEXT),
        (b"", ByteView.TEXT),
    ],
)
def test_the_best_view_of_a_value(value: bytes | None, view: ByteView) -> None:
    assert best_view(value) is view


def test_bytes_are_shown_in_each_view() -> None:
    assert shown(b'{"a":1}', ByteView.JSON) == '{\n  "a": 1\n}'
    assert shown(b"no json", ByteView.JSON) == "no json"
    assert shown(None, ByteView.HEX) == "null"
    assert shown(b"A\x00", ByteView.HEX) == "00000000  41 00  A."
    wide, narrow = (shown(bytes(range(65, 85)), ByteView.HEX, columns=columns).split("\n") for columns in (75, 74))
    assert wide[0] == "00000000  41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50  ABCDEFGHIJKLMNOP"
    assert wide[1] == "00000010  51 52 53 54" + " " * 38 + "QRST"
    assert narrow[2] == "00000010  51 52 53 54" + " " * 14 + "QRST"
    assert shown(b"x" * 20, ByteView.TEXT, most=10).endswith("10 bytes more")


def test_the_export_contains_the_whole_record() -> None:
    line = json.loads(exported("dead", DeadLetter("dead", 1, 2, 3, b"\xff", "ü".encode(), (("h", None),))))
    assert line == {
        "topic": "dead",
        "partition": 1,
        "offset": 2,
        "timestamp": 3,
        "connector": "",
        "stage": "",
        "error": "",
        "key": {"base64": "/w=="},
        "value": "ü",
        "headers": [["h", None]],
    }


def test_a_letter_without_origin_is_not_replayed() -> None:
    topic = DeadLetterTopic("dead", {"bootstrap.servers": "127.0.0.1:1"})
    assert "do not name" in topic.replay([DeadLetter("dead", 0, 0)])[0].error
