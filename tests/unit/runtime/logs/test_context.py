"""Contexts of log lines."""

from __future__ import annotations

import pytest

from runtime.logs import context


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("[c|task-0]", ("c", 0)),
        ("[a|b]c|task-12]", ("a|b]c", 12)),
        ("[c|worker]", ("c", None)),
        ("", None),
        ("[c]", None),
        ("c|task-0", None),
    ],
)
def test_contexts(text: str, whose: tuple[str, int | None] | None) -> None:
    assert context.parse(text) == whose
