"""Types that hold all numbers of others."""

from __future__ import annotations

import pytest

from runtime.engine.driver.session.delta_batches import is_wider


@pytest.mark.parametrize(
    ("kind", "other", "wider"),
    [
        ("bigint", "int", True), ("int", "bigint", False), ("int", "int", False), ("double", "float", True),
        ("double", "int", False), ("decimal(7,2)", "decimal(5,2)", True), ("decimal(5,2)", "decimal(5,2)", False),
        ("decimal(7,4)", "decimal(5,2)", True), ("decimal(5,3)", "decimal(5,2)", False), ("string", "int", False),
    ],
)  # fmt: skip
def test_wider_types(kind: str, other: str, wider: bool) -> None:
    assert is_wider(kind, other) is wider
