"""Moving about on the main screen: from the list to a page and back, from failure to failure, by filter and command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from tui.screens.home.base import Pieces
from tui.widgets.grid import Grid

if TYPE_CHECKING:
    from tui.screens.home.line import TypedLine
    from tui.widgets.prompt import Prompt


class Moves(Pieces):
    """None of it asks anything of the cluster but to look."""

    line: TypedLine

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is self.board:
            if self.is_detail and event.key is not None:
                self.show(event.key)
            self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid is self.board:
            self.open(event.key)

    def open(self, name: str, page: str = "") -> None:
        self.add_class("-detail")
        self.show(name)
        self.view.turn(page or self._page_for(name))
        self.view.take_focus()
        self.refresh_bindings()

    def _page_for(self, name: str) -> str:
        """The page that was last looked at, if there is something on it."""
        one = self.snapshot_of(name)
        return "overview" if self.view.page == "trace" and not (one and one.traces) else self.view.page

    def action_open(self) -> None:
        self.board.action_open()

    def action_back(self) -> None:
        if self.is_detail:
            self.remove_class("-detail")
            if self.view.name_shown is not None:
                self.board.go(self.view.name_shown)
            self.board.focus()
        elif self.filter_text:
            self.set_filter("")
        else:
            self.many.clear()
        self.refresh_bindings()

    def action_back_to_list(self) -> None:
        self.remove_class("-detail")
        self.board.focus()
        self.refresh_bindings()

    def action_turn(self, by: int) -> None:
        self.view.step(by)
        self.view.take_focus()

    def action_page(self, page: str) -> None:
        self.view.turn(page)
        self.view.take_focus()

    def action_switch(self) -> None:
        if self.board.has_focus:
            self.view.take_focus()
        else:
            self.board.focus()
        self.refresh_bindings()

    def action_trace(self) -> None:
        if one := self.target():
            self.open(one.name, "trace")

    def action_failure(self, step: int) -> None:
        name = self.board.next_failure(step)
        if name is None:
            self.say("no failure in this list")
            return
        self.board.go(name)
        if self.is_detail:
            self.show(name)

    def action_refresh(self) -> None:
        """Reads the page again and clears earlier status text."""
        if self.flows is not None:
            if self.said.kind != "busy":
                self.say("")
            self.flows.cluster.store.refresh()

    # Filter and commands

    def set_filter(self, text: str) -> None:
        self.filter_text = text
        self.draw(follow=True)

    def action_filter(self) -> None:
        self.line.filter()

    def action_command(self, text: str = "") -> None:
        self.line.command(text)

    def catch(self, event: events.Key) -> bool:
        """A key that no widget took."""
        return self.line.catch(event)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.line.typed(event)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self.line.left(event)
