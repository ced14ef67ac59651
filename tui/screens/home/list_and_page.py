"""Key actions that move between the connector list and a connector's page, from failure to failure, and by filter."""

from __future__ import annotations

from tui.screens.home.base import HomeBase
from tui.widgets.grid import Grid


class ListAndPage(HomeBase):
    """Sends no request to the cluster except `action_refresh`."""

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is self.connector_list:
            if self.is_detail and event.key is not None:
                self.show(event.key)
            self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid is self.connector_list:
            self.open(event.key)

    def action_open(self) -> None:
        self.connector_list.action_open()

    def action_back(self) -> None:
        """Closes the page; in the list, removes the filter, then the marks."""
        if self.is_detail:
            self.remove_class("-detail")
            if self.view.name_shown is not None:
                self.connector_list.go(self.view.name_shown)
            self.connector_list.focus()
        elif self.filter_text:
            self.set_filter("")
        else:
            self.clear_marks()
        self.refresh_bindings()

    def action_turn(self, by: int) -> None:
        self.view.step(by)
        self.view.take_focus()

    def action_page(self, page: str) -> None:
        self.view.turn(page)
        self.view.take_focus()

    def action_switch(self) -> None:
        if self.connector_list.has_focus:
            self.view.take_focus()
        else:
            self.connector_list.focus()
        self.refresh_bindings()

    def action_trace(self) -> None:
        if one := self.target():
            self.open(one.name, "trace")

    def action_failure(self, step: int) -> None:
        name = self.connector_list.next_failure(step)
        if name is None:
            self.say("no failure in this list")
            return
        self.connector_list.go(name)
        if self.is_detail:
            self.show(name)

    def action_refresh(self) -> None:
        """Reads the cluster again and clears earlier status text."""
        if self.services is not None:
            if self.status.kind != "busy":
                self.say("")
            self.services.connection.store.refresh()

    # Marks

    def action_mark(self) -> None:
        """Marks the connector under the cursor, or removes its mark; the cursor moves down."""
        if self.connector_list.current is not None:
            self.marks.toggle(self.connector_list.current)
            self.connector_list.action_move(1)
        self.draw_marks()

    def action_mark_all(self) -> None:
        """Marks all connectors that the filter shows; if all are marked, removes their marks."""
        self.marks.toggle_all(self.connector_list.keys)
        self.draw_marks()
