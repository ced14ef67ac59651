"""The smallest Textual app with a table and a heading: the lower bound of a first paint."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import DataTable


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield DataTable[str]()

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("NAME", "TYPE", "STATE")


if __name__ == "__main__":
    Bare().run()
