"""A line to type in."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class Field(Input):
    """What is pasted counts with its first line, and never confirms."""

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        lines = text.strip().splitlines()
        if lines:
            self.replace(lines[0].strip(), *self.selection)
