"""Key actions that move between the connector list and a connector's page, from failure to failure, and by filter."""

from __future__ import annotations

from asyncio import to_thread
from functools import partial
from typing import TYPE_CHECKING

from tui.screens.home.base import HomeBase
from tui.screens.listing import ordering
from tui.screens.listing.ordering import ListOrder
from tui.widgets.grid import Grid

if TYPE_CHECKING:
    from tui.screens.listing.menus import ViewChoice
    from tui.screens.listing.views import View


class ListAndPage(HomeBase):
    """Sends no request to the cluster except `action_refresh`."""

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is self.connector_list:
            if self.is_detail and event.key is not None:
                self.follow(event.key)
            self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if event.grid is self.connector_list and self._view is not None:
            self.open(event.key)

    def on_grid_heading_clicked(self, event: Grid.HeadingClicked) -> None:
        if event.grid is self.connector_list and (by := ordering.of_column(event.column)):
            self.sort(self.connector_list.order.then(by))

    def action_sort(self) -> None:
        from tui.screens.listing.menus import SortMenu

        self.app.push_screen(
            SortMenu(self.connector_list.order), lambda order: self.sort(order) if order is not None else None
        )

    def sort(self, order: ListOrder) -> None:
        """Sorts the list, and keeps the order for this cluster."""
        self.connector_list.sort(order)
        self.do(to_thread(ordering.store, self.profile.label, order))

    def action_views(self) -> None:
        """Shows a saved view, saves the present one, or removes one."""
        from tui.screens.listing import views
        from tui.screens.listing.menus import ViewsMenu

        known = views.load(self.profile.label)
        present = views.View(self.filter_text, self.connector_list.order)
        self.app.push_screen(ViewsMenu(known, present), partial(self._view_chosen, known, present))

    def _view_chosen(self, known: dict[str, View], present: View, choice: ViewChoice | None) -> None:
        if choice is None:
            return
        letter, sign = choice
        if not sign:
            self.back_to_list()
            self.filter_by(known[letter].filter)
            self.sort(known[letter].order)
            return
        from tui.screens.listing import views

        changed = {name: view for name, view in known.items() if name != letter}
        if sign == "+":
            changed[letter] = present
        trouble = views.store(self.profile.label, changed)
        done = f"V {letter} shows {present.text}" if sign == "+" else f"the view {letter} is removed"
        self.report(trouble or done, "bad" if trouble else "good")

    def action_open(self) -> None:
        self.connector_list.action_open()

    def action_back(self) -> None:
        """Leaves the page; in the list, removes the filter, then the marks, then the page beside it."""
        if self.is_on_page:
            if self.view.name_shown is not None:
                self.connector_list.go(self.view.name_shown)
            self.back_to_list()
        elif self.filter_text:
            self.set_filter("")
        elif self.marks:
            self.clear_marks()
        elif self.is_detail:
            self._pane_closed = True
            self.remove_class("-detail")
        self.refresh_bindings()

    def action_turn(self, by: int) -> None:
        self.leave()
        self.follow_now()
        self.view.step(by)
        self.view.take_focus()

    def action_page(self, page: str) -> None:
        """Turns to a page of the connector; from the list alone, opens it."""
        if not self.is_detail:
            if connector := self.target():
                self.open(connector.name, page)
            return
        self.leave()
        self.follow_now()
        self.view.turn(page)
        self.view.take_focus()

    def on_tabs_picked(self) -> None:
        self.leave()

    def action_switch(self) -> None:
        if self.connector_list.has_focus:
            self.follow_now()
            self.view.take_focus()
        else:
            self.connector_list.focus()
        self.refresh_bindings()

    def action_trace(self) -> None:
        if connector := self.target():
            self.open(connector.name, "trace")

    def action_failure(self, step: int) -> None:
        name = self.connector_list.next_failure(step)
        if name is None:
            self.report("no failure in this list")
            return
        self.connector_list.go(name)
        if self.is_detail:
            self.show(name)

    def action_refresh(self) -> None:
        """Reads the cluster again and clears earlier status text."""
        if self.services is not None:
            if self.status.kind != "busy":
                self.report("")
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
