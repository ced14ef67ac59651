"""Rate limits as text."""

from __future__ import annotations

import pytest

from tui.metrics.progress import limit_text


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (None, ""),
        ({"records": 500, "bytes": None}, "limit 500 records/s"),
        ({"records": None, "bytes": 800}, "limit 800 B/s"),
        ({"records": 12_300.0, "bytes": 2_000_000}, "limit 12.3k records/s, 2.0 MB/s"),
    ],
)
def test_limits(limit: object, text: str) -> None:
    assert limit_text({"limit": limit}) == text
