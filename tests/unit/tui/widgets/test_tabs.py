"""Tabs have the same names at every usual size; on very small screens they lose their ends, the open tab last."""

from __future__ import annotations

import pytest

from tui.screens.connector.pages import PAGES
from tui.widgets.tabs import Tabs


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("columns", [60, 80, 84, 120])
@pytest.mark.parametrize("marks", [{}, {"trace": "✗"}])
def test_tabs_fit_with_the_mark_of_a_failure(page: str, columns: int, marks: dict[str, str]) -> None:
    width = columns - 1  # without the padding
    tabs = Tabs(PAGES)
    tabs.index, tabs.marks = PAGES.index(page), marks
    words, gap, tight, _ = tabs.arranged(width)
    beside = sum(1 + len(mark) for mark in marks.values() if not tight)
    assert len(gap.join(f"{number} {word}" for number, word in enumerate(words, 1))) + beside <= width
    assert words[tabs.index] == page
    assert all(name.startswith(word) for name, word in zip(PAGES, words, strict=True))
    assert columns < 80 or words == list(PAGES)


@pytest.mark.parametrize("columns", [60, 66, 79])
@pytest.mark.parametrize("marks", [{}, {"trace": "✗"}])
def test_tabs_have_whole_names_in_two_lines(columns: int, marks: dict[str, str]) -> None:
    width = columns - 1  # without the padding
    tabs = Tabs(PAGES)
    tabs.marks = marks
    words, gap, tight, first = tabs.arranged(width, has_two_lines=True)
    assert words == list(PAGES) and (gap, tight) in (("  ", False), (" ", False), (" ", True))
    shown = [f"{number} {word}" + f" {marks.get(word)}" * (word in marks) for number, word in enumerate(words, 1)]
    lines = [gap.join(shown[:first]), gap.join(shown[first:])]
    assert max(map(len, lines)) <= width + (2 if tight else 0)
