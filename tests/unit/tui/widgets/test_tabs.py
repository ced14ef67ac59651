"""Tabs are shortened until they fit, the open tab last."""

from __future__ import annotations

import pytest

from tui.screens.connector.pages import PAGES, SHORT
from tui.widgets.tabs import Tabs


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [58, 78, 82, 118])
def test_tabs_fit_with_the_mark_of_a_failure(page: str, width: int) -> None:
    tabs = Tabs(PAGES, SHORT)
    tabs.index, tabs.marks = PAGES.index(page), {"trace": " ✗"}
    words, gap = tabs.arranged(width)
    assert len(gap.join(f"{number} {word}" for number, word in enumerate(words, 1))) + 2 <= width
    assert words[tabs.index] == page
    assert width < 118 or words == list(PAGES)
