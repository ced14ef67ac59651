"""No public class name is used twice within one half of Headrace (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("half", ["runtime", "tui"])
def test_public_class_names_are_used_once(half: str) -> None:
    names = Counter(
        node.name
        for file in (ROOT / half).rglob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
