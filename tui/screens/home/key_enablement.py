"""Which of the main screen's keys make sense now."""

from __future__ import annotations

from typing import TYPE_CHECKING

DEAD_LETTERS = "errors.deadletterqueue.topic.name"

CHANGES = ("edit", "undo", "mark", "bulk", "apply", "forget", "travel")  # these only lead to changes

if TYPE_CHECKING:
    from tui.screens.home.screen import Home


class Sense:
    """Asked by the footer, the help and each key press."""

    def __init__(self, home: Home) -> None:
        self.home = home

    def allows(self, action: str) -> bool:
        """What makes no sense now is not in the footer either."""
        if action in ("quit", "interrupt"):
            return True
        if self.home.flows is None or self.home.line.is_open:
            return False
        return bool(self._sense(action))

    def _sense(self, action: str) -> object:
        home = self.home
        if action == "act" and home.many.marks:
            return True
        if action == "dead_letters":
            return (one := home.target()) and DEAD_LETTERS in one.config
        if action in ("act", "edit"):
            return home.target()
        if action in ("mark", "mark_all", "bulk"):
            return home.board.has_focus and home.board.keys
        if action == "trace":
            return (one := home.target()) and one.traces
        if action == "failure":
            return home.board.rows.counts["FAILED"]
        if action == "undo":
            return home.is_detail
        if action in ("turn", "page"):
            return home.is_detail
        if action == "switch":
            return home.is_detail and home.is_broad
        if action == "back":
            return home.is_detail or home.filter_text or home.many.marks
        if action == "open":
            return home.board.has_focus and home.board.current is not None
        return True

    def is_idle(self, action: str) -> bool:
        """Works, but has nothing to do for this connector: not in the footer, though its key says why."""
        home = self.home
        if home.profile.read_only and (action.startswith("act(") or action in CHANGES):
            return True
        if action.startswith("act(") and home.flows is not None:
            if home.many.marks and not home.is_on_page:
                return False
            return home.flows.is_idle(action[5:-2], home.target())
        if action == "trace":
            return home.is_detail and home.view.page == "trace"
        return action == "filter" and home.is_detail and not home.is_broad
