"""Where the rows of the list are after a filter, and after keys that move far."""

from __future__ import annotations

from tests.support.console.console import console
from tests.support.servers.stub_worker import LIST, listed, stub_worker

NAMES = [f"row-{number:02}" for number in range(40)]


async def test_rows_above_the_cursor_are_visible_after_a_filter_is_cleared() -> None:
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in NAMES}}
    async with stub_worker(answers) as worker, console(worker.url, 80, 20) as seen:
        rows = seen.home.connector_list
        await seen.go("row-03")
        await seen.press("slash", *"row-03", "enter")
        await seen.until(lambda: rows.keys == ["row-03"])
        await seen.press("escape")
        await seen.until(lambda: rows.on_screen[:2] == NAMES[:2])
        assert rows.current == "row-03"
        await seen.press("ctrl+end")
        assert rows.current == "row-39"
        await seen.press("ctrl+home")
        assert rows.current == "row-00"
