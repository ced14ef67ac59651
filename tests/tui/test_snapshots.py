"""Snapshots of each screen at 80×24, 120×40 and 200×50 with answers of Apache's worker."""

from __future__ import annotations

import pytest

from tests.support.console.snapshot import SIZES, recorded, same, still
from tui.screens.connector.pages import PAGES

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens(size: tuple[int, int]) -> None:
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        await same(seen, "list")
        await seen.press("question_mark")
        await same(seen, "help")
        await seen.press("escape", "colon", *"get plugins")
        await same(seen, "command")
        await seen.press("enter")
        await same(seen, "result")
        await seen.press("escape", "slash", *"state:failed")
        await same(seen, "filter")
        await seen.press("escape")
        await seen.go("orders-search")
        await seen.press("enter")
        for number, page in enumerate(PAGES, 1):
            await seen.press(str(number))
            await same(seen, f"connector-{page}")
        await seen.press("escape", "o")
        await same(seen, "operations")
