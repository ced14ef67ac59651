"""Positions in topics: the cases that the console and the worker share."""

from __future__ import annotations

import pytest

from tests.support.topic_positions import ERRORS, NOW, POSITIONS
from tui.errors import UsageError
from tui.offsets.positions import EXAMPLES, parse


@pytest.mark.parametrize(("text", "canonical"), POSITIONS)
def test_a_position_is_parsed(text: str, canonical: str) -> None:
    assert str(parse(text, NOW)) == canonical


@pytest.mark.parametrize("canonical", sorted({canonical for _, canonical in POSITIONS}))
def test_a_canonical_text_is_unchanged(canonical: str) -> None:
    assert str(parse(canonical, NOW)) == canonical


@pytest.mark.parametrize("text", ERRORS)
def test_an_invalid_position_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid position: expected earliest"):
        parse(text, NOW)


def test_the_examples_on_the_screen_are_valid() -> None:
    for text in EXAMPLES:
        parse(text, NOW)
