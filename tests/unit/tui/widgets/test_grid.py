"""The text of a grid without rows."""

from __future__ import annotations

from textual.app import App, ComposeResult

from tui.appearance import themes
from tui.widgets.columns import Column
from tui.widgets.grid import Grid


class Empty(App[None]):
    def __init__(self) -> None:
        super().__init__()
        theme = themes.bundled()[0].textual()
        self.register_theme(theme)
        self.theme = theme.name

    def compose(self) -> ComposeResult:
        yield Grid((Column("key", "KEY", 10),))


async def test_the_text_is_wrapped() -> None:
    async with Empty().run_test(size=(24, 8)) as pilot:
        grid = pilot.app.query_one(Grid)
        grid.empty = "the brokers refused this\nset other credentials in the context"
        grid.show([], lambda key: {})
        await pilot.pause()
        lines = [grid.render_line(y).text.strip() for y in range(8)]
        assert lines[2:6] == ["the brokers refused", "this", "set other credentials", "in the context"]
