"""The editor of offsets as JSON: the initial position of the cursor."""

from __future__ import annotations

from tui.widgets.jsontext import CommandEditor

MAX_BRACKET_MATCHING = 200  # partitions; in longer texts, searching for matching brackets slows the cursor


class Editor(CommandEditor):
    """Begins at the offset that the cursor of the table was on."""

    def begin(self, text: str, partitions: int, place: int, undoable: bool = False) -> None:
        """Loads a text; the cursor is placed behind the offset of the partition with index `place`. `undoable`: one
        undo brings the former text back."""
        self.read_only = False
        self.match_cursor_bracket = partitions < MAX_BRACKET_MATCHING
        (self.replace_text if undoable else self.load_text)(text)
        rows = text.split("\n")
        lines = [number for number, line in enumerate(rows) if line.lstrip().startswith('"offset"')]
        if lines:
            line = lines[min(place, len(lines) - 1)]
            self.move_cursor((line, max(0, len(rows[line].rstrip("},")))))
        self.focus()
