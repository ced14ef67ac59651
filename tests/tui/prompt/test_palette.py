"""The palette: jumps, meanings, reasons."""

from __future__ import annotations

from tests.support.console.console import Console, detached_console
from tests.unit.tui.screens.builders import connector
from tui.screens.palette.palette import PaletteScreen

SOME = (connector("orders-sink", topics="orders"), connector("stock", tasks=("FAILED",)))


async def find(seen: Console, query: str) -> None:
    await seen.press("ctrl+p")
    await seen.until(lambda: isinstance(seen.app.screen, PaletteScreen))
    await seen.press(*query)


async def test_jumps_by_name_and_meaning() -> None:
    async with detached_console(*SOME, width=100, height=30) as seen:
        await find(seen, "stock")
        await seen.sees("failed, sink, FileStreamSink")
        await seen.press("enter")
        await seen.until(lambda: seen.home.is_detail and seen.home.view.name_shown == "stock")
        await find(seen, "topic orders")
        await seen.press("enter")
        await seen.until(lambda: seen.home.view.name_shown == "orders-sink" and seen.home.view.page == "topics")
        await find(seen, "throughput page")
        await seen.press("enter")
        await seen.until(lambda: seen.home.view.page == "metrics")


async def test_a_key_without_effect_is_found_with_the_reason() -> None:
    async with detached_console(*SOME, width=100, height=30) as seen:
        await seen.go("orders-sink")
        await find(seen, "dlq")
        await seen.sees("dead letters", "orders-sink has no dead letter topic")
        await seen.press("enter")
        await seen.sees("! dead letters: orders-sink has no dead letter topic")


async def test_no_matches() -> None:
    async with detached_console(*SOME, width=100, height=30) as seen:
        await find(seen, "stcok")
        await seen.sees("no matches for 'stcok'; did you mean stock or stop?")
        await seen.press("enter")
        assert isinstance(seen.app.screen, PaletteScreen)
        await seen.press("escape")
        await seen.until(lambda: seen.app.screen is seen.home)
