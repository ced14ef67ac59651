"""The main screen's marks, and verbs for many connectors: those marked, or those the filter shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.formatting import counted
from tui.model import Connector, by_severity
from tui.screens.home.marks import Marks

if TYPE_CHECKING:
    from asyncio import Future

    from tui.screens.home.screen import Home
    from tui.screens.operations.actions import Action
    from tui.screens.operations.bulk import Bulk, Target


class Many:
    """Who is meant is settled when the question is asked, and shown in it; later refreshes change nothing."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.marks = Marks()

    def mark(self) -> None:
        """The row under the cursor, and a step down."""
        board = self.home.board
        if board.current is not None:
            self.marks.toggle(board.current)
            board.action_move(1)
        self._changed()

    def mark_all(self) -> None:
        """All that the filter shows; once more, and none of them is."""
        self.marks.toggle_all(self.home.board.keys)
        self._changed()

    def clear(self) -> None:
        self.marks.clear()
        self._changed()

    def _changed(self) -> None:
        self.home.board.refresh_changed()
        self.home.count()
        self.home.refresh_bindings()

    def meant(self) -> list[Connector]:
        """The marked ones, also those that the filter hides; without marks those the filter shows."""
        there = self.home.snapshot.connectors
        names = self.marks if self.marks else self.home.board.keys
        return by_severity(there[name] for name in names if name in there)

    def who(self) -> str:
        """`3 connectors: those marked (1 hidden by the filter)`."""
        count = counted(len(self.meant()), "connector")
        if self.marks:
            hidden = len(set(self.marks) - set(self.home.board.keys))
            return f"{count}: those marked" + (f" ({hidden} hidden by the filter)" if hidden else "")
        text = self.home.filter_text
        return f"{count}: those shown by /{text}" if text else f"{count}: all of them"

    def menu(self) -> None:
        from tui.screens.operations.bulk_screen import BulkMenu

        self.home.app.push_screen(BulkMenu(self.who()), lambda name: self.act(name) if name else None)

    def act(self, name: str) -> None:
        """A verb's key while there are marks."""
        from tui.screens.operations.actions import ACTIONS
        from tui.screens.operations.bulk import chosen
        from tui.screens.operations.bulk_screen import question

        home, action = self.home, ACTIONS[name]
        if home.flows is None or home.is_refused(name) or not home.flows.may(change=True):
            return
        who = self.who()
        targets = chosen(action, self.meant(), home.operations.pending)
        if all(target.left_out for target in targets):
            home.say(f"nothing to {name}: " + (targets[0].left_out if len(targets) == 1 else f"{who}, none needs it"))
            return
        where = f" on {home.profile.label}" if home.profile.production else ""
        answer = home.flows.put(question(action, targets, home.snapshot.connectors, where))
        home.do(self._go(action, targets, f"{name} {who}", answer))

    async def _go(self, action: Action, targets: list[Target], what: str, answer: Future[bool]) -> None:
        from tui.screens.operations.bulk import Bulk

        home = self.home
        if home.flows is None or not await home.flows.agreed(answer, what) or not home.flows.may(change=True):
            return
        self.clear()
        bulk = Bulk(action, targets, home.flows.work.act, home.snapshot_of, home.news.steps_changed)
        self._start(bulk)

    def _start(self, bulk: Bulk) -> None:
        from tui.screens.operations.bulk_screen import BulkScreen

        self.home.do(bulk.run())
        if not isinstance(self.home.app.screen, BulkScreen):
            self.home.app.push_screen(BulkScreen(bulk, self._start))
