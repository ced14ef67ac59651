"""Texts about dead letters."""

from __future__ import annotations

from tui.dead_letters.letters import PREFIX, DeadLetter
from tui.screens.dead_letters.dead_letter_text import explained, warning
from tui.topics.byte_views import ByteView


def test_the_warning_before_a_replay_names_the_partitions() -> None:
    headers = ("topic", b"t"), ("partition", b"3"), ("offset", b"7")
    known = DeadLetter("dead", 0, 0, headers=tuple((PREFIX + key, value) for key, value in headers))
    unknown = DeadLetter("dead", 0, 1)
    by_key = "headers, to partitions chosen by key (no header names the original partition); every"
    assert "headers, to their original partitions; every" in warning([known], 0).plain
    assert by_key in warning([unknown], 0).plain
    assert (
        "original partitions, or chosen by key if no header names it (1); every" in warning([known, unknown], 0).plain
    )


def test_the_warning_before_a_replay_names_other_connectors() -> None:
    other = DeadLetter("dead", 0, 0, headers=((PREFIX + "connector.name", b"orders-us"),))
    assert "1 of them failed in other connectors: orders-us." in warning([other], 0, connector="orders-eu").plain
    assert "other connectors" not in warning([other], 0, connector="orders-us", sharing=["orders-eu"]).plain
    shared = warning([other, DeadLetter("dead", 0, 1)], 0, connector="orders-us", sharing=["orders-eu"]).plain
    assert "1 of them may be of other connectors with this dead letter topic (orders-eu)" in shared


def test_key_and_value_follow_the_error_so_that_20_lines_show_them() -> None:
    errors = {"exception.class.name": b"DataException", "exception.message": b"no JSON", "stage": b"VALUE_CONVERTER"}
    letter = DeadLetter("dead", 0, 1, value=b"neither", headers=tuple((PREFIX + key, errors[key]) for key in errors))
    lines = explained(letter, "dead", ByteView.TEXT).plain.split("\n")
    assert lines.index("neither") == 4
    assert lines.index("neither") < next(number for number, line in enumerate(lines) if line.startswith("stage"))
