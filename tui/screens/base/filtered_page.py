"""A page with a list that shows only the rows that match a text, which is typed after `/`."""

from __future__ import annotations

from tui.screens.base.page import Page
from tui.widgets.grid import Grid
from tui.widgets.prompt import Prompt


class FilteredPage(Page):
    """Subclasses bind a key to `filter`. Textual calls the handlers of this class and of subclasses."""

    filter_text = ""

    @property
    def grid(self) -> Grid:
        """The list, which has the focus when the prompt is closed."""
        raise NotImplementedError

    def draw_filtered(self) -> None:
        """Draws the list after a change of `filter_text`."""
        raise NotImplementedError

    def action_filter(self) -> None:
        self.open_prompt("/", self.filter_text, lambda text: [])

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        event.stop()
        if self.prompt.is_open:
            self.set_filter(event.text)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        event.stop()
        self.grid.focus()
        self.set_filter("")

    def submitted(self, sign: str, text: str) -> None:
        self.grid.focus()
        self.set_filter(text)

    def set_filter(self, text: str) -> None:
        self.filter_text = text.strip()
        self.draw_filtered()
