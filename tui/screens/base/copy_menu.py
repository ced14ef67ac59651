"""The menu of what a screen shows: a key copies a part, its capital writes the part to a file."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType

from tui.formatting import cut
from tui.screens.base.key_menu import KeyMenu
from tui.screens.base.shown import JSON, ROW, SCREEN, TABLE, TEXT, ShownContents, ShownPart
from tui.widgets.text import visible

KEYS = {"r": ROW, "t": TABLE, "j": JSON, "x": TEXT, "s": SCREEN}
MAX_CELLS = 9  # of the row under the cursor, one for each digit
CELL = 40  # characters of a cell


class CopyChoice(NamedTuple):
    """A part of the screen, and whether to write it to a file instead of copying it."""

    part: ShownPart
    to_file: bool = False


class CopyMenu(KeyMenu[CopyChoice]):
    """Digits copy single cells."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "close", "close", key_display="esc"),
    ]

    def __init__(self, contents: ShownContents) -> None:
        super().__init__()
        self.parts = contents.parts()
        self.cells = contents.cells()[:MAX_CELLS]

    def heading(self) -> str:
        return "copy; with shift, write to a file"

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        width = max((len(title) for title, _ in self.cells), default=0)
        for number, (title, text) in enumerate(self.cells, 1):
            shown = (visible(title).lower().ljust(width), "$text-muted")
            lines += [(f"  {number}", "bold $accent"), "  ", shown, f"  {visible(cut(text, CELL))}\n"]
        if lines:
            lines.append("\n")
        for key, name in KEYS.items():
            if name in self.parts:
                part = self.parts[name]
                keys = f"{key} {key.upper()}" if part.suffix else f"{key}  "
                lines += [(f"  {keys}", "bold $accent"), f"  {part.subject}\n"]
        return lines

    def on_key(self, event: events.Key) -> None:
        choice = self._choice(event.character or "")
        if choice is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(choice)

    def _choice(self, key: str) -> CopyChoice | None:
        if key.isdecimal() and 1 <= int(key) <= len(self.cells):
            title, text = self.cells[int(key) - 1]
            return CopyChoice(ShownPart(title.lower(), lambda: text))
        part = self.parts.get(KEYS.get(key.lower(), ""))
        if part is None or (key.isupper() and not part.suffix):
            return None
        return CopyChoice(part, key.isupper())
