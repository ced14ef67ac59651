"""Moments as people say them; what our worker is sent reads the same there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.herder.offsets.moments import parse as as_the_worker
from tui.errors import UsageError
from tui.offsets.positions import EXAMPLES, Absolute, At, Edge, Relative, parse

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
NOON = int(NOW.timestamp() * 1000)
HOUR = 3600_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("earliest", Edge(False)),
        (" Latest ", Edge(True)),
        ("+5", Relative(5)),
        ("-5", Relative(-5)),
        ("7", Absolute(7)),
        ("1h ago", At(NOON - HOUR)),
        ("-1h", At(NOON - HOUR)),
        ("1h", At(NOON - HOUR)),
        ("1h30m ago", At(NOON - HOUR * 3 // 2)),
        ("1d 1h ago", At(NOON - 25 * HOUR)),
        ("PT1H", At(NOON - HOUR)),
        ("2026-01-31T12:00:00Z", At(NOON)),
        ("2026-01-31T13:00:00+01:00", At(NOON)),
        ("2026-01-31 12:00", At(NOON)),
        ("1969-01-01", At(0)),
    ],
)
def test_what_is_said(text: str, moment: object) -> None:
    found = parse(text, NOW)
    assert found == moment
    assert parse(str(found), NOW) == found, "its text means the same"
    assert repr(as_the_worker(str(found), NOW)) == repr(found), "and so it does to the worker"


@pytest.mark.parametrize("text", ["", "-", "ago", "yesterday", "1.5h", "h", "- 5", "٣", "2026-13-01", "9" * 30 + "d"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(UsageError, match="no place to go"):
        parse(text, NOW)


def test_the_examples_are_moments() -> None:
    for text in EXAMPLES:
        parse(text, NOW)
