"""The editor of offsets as JSON: its keys and the initial position of the cursor."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.jsontext import JsonArea

MAX_BRACKET_MATCHING = 200  # partitions; in longer texts, searching for matching brackets slows the cursor


class Editor(JsonArea):
    """Handles the keys of its bindings; all other keys type text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "apply", "apply", key_display="^s"),
        Binding("escape,ctrl+c", "leave", "back, text is kept", key_display="esc"),
        Binding("f5,ctrl+r", "reload", "start over", key_display="F5"),
    ]

    class Command(Message):
        """A key of the bindings was pressed; `action` is the name of its action."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def action_apply(self) -> None:
        self.post_message(self.Command("apply"))

    def action_leave(self) -> None:
        self.post_message(self.Command("leave"))

    def action_reload(self) -> None:
        self.post_message(self.Command("reload"))

    def begin(self, text: str, partitions: int, place: int) -> None:
        """Loads a text; the cursor is placed behind the offset of the partition with index `place`."""
        self.read_only = False
        self.match_cursor_bracket = partitions < MAX_BRACKET_MATCHING
        self.load_text(text)
        rows = text.split("\n")
        lines = [number for number, line in enumerate(rows) if line.lstrip().startswith('"offset"')]
        if lines:
            line = lines[min(place, len(lines) - 1)]
            self.move_cursor((line, max(0, len(rows[line].rstrip("},")))))
        self.focus()
