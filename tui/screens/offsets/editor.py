"""The text of offsets, as it is edited: its keys, and where the cursor begins."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.jsontext import JsonArea

MANY = 200  # partitions from which the search for matching brackets, of the whole text at each move, is left out


class Editor(JsonArea):
    """The keys of editing; all others are text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "apply", "apply", key_display="^s"),
        Binding("escape,ctrl+c", "leave", "back, text is kept", key_display="esc"),
        Binding("f5,ctrl+r", "reload", "start over", key_display="F5"),
    ]

    class Command(Message):
        """One of them was pressed."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def action_apply(self) -> None:
        self.post_message(self.Command("apply"))

    def action_leave(self) -> None:
        self.post_message(self.Command("leave"))

    def action_reload(self) -> None:
        self.post_message(self.Command("reload"))

    def begin(self, text: str, partitions: int, place: int) -> None:
        """A text to edit, the cursor behind the offset of the partition at that place."""
        self.read_only = False
        self.match_cursor_bracket = partitions < MANY
        self.load_text(text)
        rows = text.split("\n")
        lines = [number for number, line in enumerate(rows) if line.lstrip().startswith('"offset"')]
        if lines:
            line = lines[min(place, len(lines) - 1)]
            self.move_cursor((line, max(0, len(rows[line].rstrip("},")))))
        self.focus()
