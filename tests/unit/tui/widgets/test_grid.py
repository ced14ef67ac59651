"""The grid: where rows are after a filter."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import App, ComposeResult

from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid


def cells(key: str) -> Mapping[str, Cell]:
    return {"name": Cell(key)}


class GridApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Grid([Column("name", "NAME", 10)])


async def test_rows_above_the_cursor_are_visible_after_a_filter_is_cleared() -> None:
    app = GridApp()
    async with app.run_test(size=(40, 12)) as pilot:
        grid, names = app.query_one(Grid), [f"row-{number:02}" for number in range(40)]
        grid.show(names, cells)
        grid.go("row-03")
        grid.show(["row-03"], cells, follow=True)
        await pilot.pause()
        grid.show(names, cells, follow=True)
        await pilot.pause()
        assert grid.current == "row-03" and grid.on_screen[:2] == ["row-00", "row-01"]


async def test_control_home_and_end() -> None:
    app = GridApp()
    async with app.run_test(size=(40, 12)) as pilot:
        grid = app.query_one(Grid)
        grid.show([f"row-{number:02}" for number in range(40)], cells)
        grid.focus()
        await pilot.press("ctrl+end")
        assert grid.current == "row-39"
        await pilot.press("ctrl+home")
        assert grid.current == "row-00"
