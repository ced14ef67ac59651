"""Text of a server is shown literally on every page of a cluster with unusual names and values."""

from __future__ import annotations

import unicodedata

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import RECORDING, SIZES, recorded, still
from tui.screens.connector.pages import PAGES

__all__ = ["still"]
HOSTILE = RECORDING.with_name("hostile.jsonl")
OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


def harmless(seen: Console) -> None:
    """Neither control characters nor bidirectional overrides are shown, and each line is as wide as the screen."""
    strips = seen.app.screen._compositor.render_strips(seen.app.size)
    for strip in strips:
        text = "".join(segment.text for segment in strip)
        bad = [char for char in text if unicodedata.category(char) == "Cc" or char in OVERRIDES]
        assert not bad, f"{bad!r} in {text!r}"
        assert strip.cell_length == seen.app.size.width, text


@pytest.mark.parametrize(
    "size", [SIZES[0], pytest.param(SIZES[1], marks=pytest.mark.soak)], ids=lambda size: f"{size[0]}x{size[1]}"
)
async def test_every_page_of_every_connector(size: tuple[int, int], still: None) -> None:
    async with recorded(*size, HOSTILE) as seen:
        await seen.sees("[/oops]", "日本語の名前コネクタ")
        harmless(seen)
        for name in list(seen.home.connector_list.keys):
            await seen.go(name)
            await seen.press("enter")
            for number, _ in enumerate(PAGES, 1):
                await seen.press(str(number))
                harmless(seen)
            await seen.press("escape")
        assert seen.app.is_running


async def test_markup_is_shown_literally(still: None) -> None:
    async with recorded(120, 40, HOSTILE) as seen:
        await seen.sees("[/oops]", "[red]not red[/red]", "a/b c?d#e%2F")
        for key in ("question_mark", "o", "C", "W", "L", "P"):
            await seen.press(key)
            harmless(seen)
            await seen.press("escape")
        await seen.press("colon", *"describe '[/oops]'", "enter")
        harmless(seen)
        await seen.press("escape")
        await seen.go("fails")
        await seen.press("t")
        await seen.sees("[/oops] [bold]b[/bold]")
        harmless(seen)
