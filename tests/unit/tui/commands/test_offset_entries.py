"""Offsets of a command line: mistakes that would lose an entry, or that a worker would read as something else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.commands.offsets.altering import parse_entries
from tui.errors import UsageError


def entry(partition: Any, offset: str = '{"kafka_offset": 1}') -> str:
    return f'{{"partition": {json.dumps({"kafka_topic": "t", "kafka_partition": partition})}, "offset": {offset}}}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"[{entry(0)}, {entry(1)}, {entry(0)}]", "entry 3 has the same partition as entry 1"),
        (f"[{entry(0)}, {entry('0')}]", "entry 2 has the same partition as entry 1"),
        (f"[{entry(3)}, {entry('03')}]", "entry 2 has the same partition as entry 1"),
        (entry(0, '{"kafka_offset": 1, "kafka_offset": 2}'), 'the key "kafka_offset" occurs twice'),
        (entry(0, '{"n": NaN}'), "NaN is not a number"),
        (entry(0, '{"n": 1e400}'), "1e400 is not a number"),
        ("[{", "the offsets: not JSON"),
    ],
)
def test_they_are_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_entries(text, "the offsets")
