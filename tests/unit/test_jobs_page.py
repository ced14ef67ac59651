"""docs/jobs.md has a row for each job that a test does by keys, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.console.counted_terminal import documented

_COUNTED = re.compile(r'(?:with .*\bjob|\bcheck)\("([^"]+)"')
FOLDER = Path(__file__).parents[1] / "tui" / "terminal" / "jobs"


def test_each_number_of_the_page_is_counted() -> None:
    counted = [name for path in FOLDER.glob("test_*.py") for name in _COUNTED.findall(path.read_text("utf-8"))]
    assert sorted(documented()) == sorted(counted)
    assert len(counted) == 14
