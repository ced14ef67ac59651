"""The mouse: headings, rows, tabs, the keys in the last line, and the wheel."""

from __future__ import annotations

import pytest
from textual.events import MouseDown, MouseScrollDown, MouseUp
from textual.message import Message

from tests.support.console.console import Console, detached_console, update
from tests.unit.tui.screens.builders import connector
from tui.screens.base.reading import Reading
from tui.screens.tasks.task_table import TaskTable
from tui.widgets.bars import KeyBar
from tui.widgets.grid import Grid


async def opened(seen: Console) -> None:
    """The tasks of a connector, of which the second has failed."""
    update(seen, connector("orders", "RUNNING", ("RUNNING", "FAILED", "PAUSED")), connector("stock"))
    await seen.go("orders")
    await seen.press("2")
    await seen.until(lambda: seen.home.view.tasks.grid.has_focus, "the tasks")


async def test_a_heading_sorts_a_table_and_s_does_so_by_key() -> None:
    async with detached_console(width=100, height=30) as seen:
        await opened(seen)
        grid = seen.app.screen.query_one(TaskTable)
        assert grid.keys == ["0", "1", "2"] and grid.current == "1"
        await seen.pilot.click(grid, offset=(9, 0))
        assert grid.keys == ["1", "2", "0"] and grid.current == "1", "FAILED, PAUSED, RUNNING; the cursor stays"
        await seen.sees("STATE↑")
        await seen.pilot.click(grid, offset=(9, 0))
        assert grid.keys == ["0", "2", "1"]
        await seen.pilot.click(grid, offset=(9, 0))
        assert grid.keys == ["0", "1", "2"] and grid.sorted_by == ("", "")
        await seen.press("S")
        assert grid.keys == ["2", "1", "0"], "numbers begin with the largest"
        await seen.press("S", "S")
        assert grid.keys == ["1", "2", "0"]


async def test_the_keys_in_the_last_line_can_be_clicked() -> None:
    async with detached_console() as seen:
        await opened(seen)
        bar = seen.app.screen.query_one(KeyBar)
        place = bar.content.plain.index("? help")
        await seen.pilot.click(bar, offset=(place + 3, 0))
        await seen.until(lambda: isinstance(seen.app.screen, Reading), "the help")


async def test_only_the_left_button_acts() -> None:
    async with detached_console() as seen:
        await opened(seen)
        bar, driver = seen.app.screen.query_one(KeyBar), seen.app._driver
        x, y = bar.content.plain.index("? help") + 3, bar.region.y
        assert driver is not None
        for button in (2, 3, 1):
            assert not isinstance(seen.app.screen, Reading), "the middle or the right button"
            for kind in (MouseDown, MouseUp):
                driver.process_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))
            await seen.pilot.pause()
        await seen.until(lambda: isinstance(seen.app.screen, Reading), "the help")


async def test_narrow_screens_have_two_lines_of_keys() -> None:
    async with detached_console(width=60, height=20) as seen:
        await opened(seen)
        bar = seen.app.screen.query_one(KeyBar)
        first, second = bar.content.plain.split("\n")
        assert "R restart task" in first + second and second.endswith("q quit  ? help"), bar.content.plain
        await seen.press("escape")
        assert "R restart" in bar.content.plain and "s stop" in bar.content.plain, bar.content.plain
        await seen.pilot.click(bar, offset=(second.index("? help") + 1, 1))
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(lambda: "\n" not in bar.content.plain, "one line")


async def test_the_wheel_at_the_end_of_the_rows_moves_beyond_them(monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Message] = []
    async with detached_console(*(connector(f"c{number:02}") for number in range(40))) as seen:
        grid, post = seen.home.connector_list, seen.home.connector_list.post_message

        def keep(message: Message) -> bool:
            posted.append(message)
            return post(message)

        monkeypatch.setattr(grid, "post_message", keep)
        for _ in range(30):
            await seen.pilot._post_mouse_events([MouseScrollDown], grid, offset=(5, 5))
        await seen.until(lambda: grid.scroll_offset.y == grid.max_scroll_y, "the end")
        await seen.until(lambda: any(isinstance(message, Grid.Beyond) for message in posted), "a message")
        assert {message.step for message in posted if isinstance(message, Grid.Beyond)} == {1}


@pytest.mark.parametrize("sign", ["colon", "slash"])
async def test_a_click_elsewhere_closes_the_prompt(sign: str) -> None:
    async with detached_console(connector("orders"), connector("stock")) as seen:
        await seen.press(sign, "o")
        assert seen.home.command_line.is_open
        await seen.pilot.click(seen.home.connector_list, offset=(5, 1))
        await seen.until(lambda: not seen.home.command_line.is_open)
        await seen.sees("s stop", "? help")
        assert seen.home.connector_list.has_focus and seen.home.status.text == ""
        assert seen.home.filter_text == ("o" if sign == "slash" else "")
