"""The order of the list: by its menu, by headings, by the command, kept for each cluster."""

from __future__ import annotations

from tests.support.console.console import detached_console
from tests.unit.tui.screens.builders import connector

LAGS = {"a": 5, "b": 70, "c": 0}
SOME = (connector("a"), connector("b"), connector("c", tasks=("FAILED",)))


def progress() -> dict[str, object]:
    return {name: {"read": 1, "written": 1, "failed": 0, "lag": {"records": lag}} for name, lag in LAGS.items()}


async def test_the_list_is_sorted_by_key_and_by_heading() -> None:
    async with detached_console(*SOME, width=100, name="sorting") as seen:
        grid = seen.home.connector_list
        assert grid.keys == ["c", "a", "b"] and seen.home.progress is not None
        seen.home.progress.update(progress())
        await seen.press("S")
        await seen.sees("sort the list by", "throughput")
        await seen.press("l")
        await seen.until(lambda: grid.keys == ["b", "a", "c"])
        await seen.sees("LAG↓")
        assert grid.cursor == "c", "the cursor stays on its connector"
        await seen.press("S", "l")
        await seen.until(lambda: grid.keys == ["c", "a", "b"])
        await seen.pilot.click(grid, offset=(3, 0))
        await seen.until(lambda: grid.keys == ["a", "b", "c"])
        await seen.press("colon", *"sort speed", "enter")
        await seen.sees("unknown order 'speed'; choose from state, name, lag")
        await seen.press("colon", *"sort name reverse", "enter")
        await seen.until(lambda: grid.keys == ["c", "b", "a"])
    async with detached_console(*SOME, width=100, name="sorting") as seen:
        await seen.until(lambda: seen.home.connector_list.keys == ["c", "b", "a"])
    async with detached_console(*SOME, width=100, name="another") as seen:
        await seen.until(lambda: seen.home.connector_list.keys == ["c", "a", "b"])


async def test_growing_lag_moves_a_row_but_not_the_cursor() -> None:
    async with detached_console(*SOME, width=100) as seen:
        grid, monitor = seen.home.connector_list, seen.home.progress
        assert monitor is not None
        monitor.update(progress())
        seen.home.run_line("sort lag")
        await seen.go("a")
        grid._sorted_at = 0.0
        monitor.update({"c": {"read": 9, "written": 9, "failed": 0, "lag": {"records": 900}}})
        await seen.until(lambda: grid.keys == ["c", "b", "a"])
        assert grid.cursor == "a"
