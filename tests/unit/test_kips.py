"""Every test that tests/contract/kips.md names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "contract" / "kips.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_test_that_the_page_names_exists() -> None:
    named = set(_NAMED.findall(PAGE.read_text()))
    assert len(named) > 40
    missing = [f"{file}::{test}" for file, test in sorted(named) if f"def {test}(" not in _text(file)]
    assert missing == []


def test_every_row_names_a_test_or_a_reason() -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| requirement")
    ]
    bare = [row for row in rows if not row.startswith("| ---") and not _NAMED.search(row) and "not yet:" not in row]
    assert bare == []


def _text(file: str) -> str:
    """The text of a test file: in a folder below tests/, or anywhere in tests/scenario."""
    paths = [ROOT / "tests" / file] if "/" in file else ROOT.glob(f"tests/scenario/**/{file}")
    return "".join(path.read_text("utf-8") for path in paths if path.exists())
