"""The comparison of two exports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.migrate import offsets_compared
from runtime.offsets_tool import document
from runtime.offsets_tool.document import Document


@pytest.mark.parametrize(
    ("before", "after", "is_behind"),
    [
        ({"position": 5}, {"position": 5}, False),
        ({"position": 5}, {"position": 7}, False),
        ({"position": 5}, {"position": 4}, True),
        ({"kafka_offset": 5}, None, True),
        (None, {"position": 1}, False),
        ({"file": "log.1", "pos": 900}, {"file": "log.2", "pos": 4}, False),
        ({"file": "log.1", "pos": 900, "row": 7}, {"file": "log.1", "pos": 950, "row": 0}, False),
        ({"file": "log.1", "pos": 900, "row": 7}, {"file": "log.1", "pos": 900, "row": 6}, True),
        ({"lsn": 9, "snapshot": True}, {"lsn": 8}, False),
        ({"snapshot": True, "lsn": 9}, {"snapshot": False, "lsn": 8}, False),
    ],
)
def test_an_offset_is_behind_if_its_numbers_are_smaller(before: Any, after: Any, is_behind: bool) -> None:
    lines = list(offsets_compared.behind(export(before), export(after)))
    assert len(lines) == is_behind
    if lines:
        assert lines[0].startswith('c {"p":1}: {"') and lines[0].endswith("null now" if after is None else "} now")


def test_offsets_of_a_connector_that_is_missing() -> None:
    before = export({"position": 5})
    assert len(list(offsets_compared.behind(before, {}))) == 1
    assert offsets_compared.count(before) == 1 and offsets_compared.count(export(None)) == 0


def export(offset: Any) -> Document:
    return document.read(json.dumps({"c": [{"partition": {"p": 1}, "offset": offset}]}).encode(), "export")
