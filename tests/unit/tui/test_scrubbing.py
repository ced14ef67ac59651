"""Typed commands are shown without their secrets."""

from __future__ import annotations

import pytest

from tui.scrubbing import scrubbed_line


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("patch connector x -s db.password=hunter2 -s a=b", "patch connector x -s db.password=[hidden] -s a=b"),
        ("patch connector x -s 'db.password=hun ter2' -r y", "patch connector x -s db.password=[hidden] -r y"),
        ('patch connector x -s "db.password=hun\\"ter 2"', "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s 'db.password=hunter 2", "patch connector x -s db.password=[hidden]"),
        ("patch connector x -s db.password=${file:/a:b}", "patch connector x -s db.password=${file:/a:b}"),
        (
            "config set-context p --token hunter2 --url http://me:hunter2@h",
            "config set-context p --token [hidden] --url http://h",
        ),
        ("config set-context p --header Authorization=hunter2", "config set-context p --header Authorization=[hidden]"),
        ("patch offsets n '{\"a\": 1}' --reason 'the key'", "patch offsets n '{\"a\": 1}' --reason 'the key'"),
        ("stop 'a b' c\\ d", "stop 'a b' c\\ d"),
    ],
)
def test_a_typed_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert scrubbed_line(line) == shown
