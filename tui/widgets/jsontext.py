"""Highlighted JSON, for reading and editing, without a parser library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme

from tui.editor.places import TextPosition
from tui.widgets.text import visible

_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<literal>\b(?:true|false|null)\b)"
)
DISCARDED = "the edits were discarded; ^Z brings them back"
BEING_APPLIED = "this text is being applied; o shows the progress"
KINDS = ("key", "string", "number", "literal")


def tokens(line: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each highlighted token of a line; JSON strings never span lines."""
    for match in _TOKEN.finditer(line):
        yield match.start(), match.end(), str(match.lastgroup)


def coloured(text: str) -> Content:
    """Highlighted JSON for reading."""
    lines = []
    for raw in text.split("\n"):
        line = Content(visible(raw))
        for start, end, kind in tokens(raw):
            line = line.stylize(f"$json-{kind}", start, end)
        lines.append(line)
    return Content("\n").join(lines)


# Bindings of the text area that run immediately: bindings act only after bubbling up to the app, so that letters typed
# after them would overtake them.
IMMEDIATE_KEYS = {
    "backspace": "delete_left",
    "delete": "delete_right",
    "left": "cursor_left",
    "right": "cursor_right",
    "up": "cursor_up",
    "down": "cursor_down",
    "home": "cursor_line_start",
    "end": "cursor_line_end",
}


class JsonArea(TextArea):
    """An editor for JSON that underlines an error."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*(f"json--{kind}" for kind in KINDS), "json--error"}
    DEFAULT_CSS = """
    JsonArea { border: none; padding: 0; background: $background; scrollbar-size-vertical: 1; }
    JsonArea:focus { border: none; }
    JsonArea > .json--key { color: $json-key; }
    JsonArea > .json--string { color: $json-string; }
    JsonArea > .json--number { color: $json-number; }
    JsonArea > .json--literal { color: $json-literal; }
    JsonArea > .json--error { color: $error; text-style: underline bold; }
    JsonArea > .text-area--gutter { color: $text-muted; }
    JsonArea > .text-area--cursor-gutter { color: $foreground; background: $surface; }
    JsonArea > .text-area--cursor-line { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z,ctrl+underscore", "undo", "undo", show=False),
        Binding("ctrl+y", "redo", "redo", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id, show_line_numbers=True, soft_wrap=True, tab_behavior="focus", highlight_cursor_line=True
        )
        self.error_at: TextPosition | None = None
        self.indent_width = 2

    def on_mount(self) -> None:
        self.apply_theme()
        self.app.theme_changed_signal.subscribe(self, lambda _: self.apply_theme())

    def apply_theme(self) -> None:
        """Keeps the highlighting in the cursor's line, which Textual's own style would hide."""
        line = Style(bgcolor=Color.parse(self.app.theme_variables["surface"]).rich_color)
        self.register_theme(TextAreaTheme("json", cursor_line_style=line))
        self.theme = "css"
        self.theme = "json"

    def on_key(self, event: events.Key) -> None:
        if (action := IMMEDIATE_KEYS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            getattr(self, f"action_{action}")()

    def replace_text(self, text: str) -> None:
        """Replaces the whole text and moves the cursor to its beginning. One undo brings the former text back, which
        `load_text` would forget."""
        if text != self.text:
            self.history.checkpoint()
            self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor((0, 0))

    def go_to(self, place: TextPosition) -> None:
        """Moves the cursor to the position if it is in another line: in the same line, the next backspace would delete
        what is before the error instead of what was typed last."""
        if place.line and place.line - 1 != self.cursor_location[0]:
            self.move_cursor((place.line - 1, place.column - 1))

    def undo(self) -> None:
        if not self.read_only:  # Textual does not ask
            super().undo()

    def redo(self) -> None:
        if not self.read_only:
            super().redo()

    def mark(self, place: TextPosition | None) -> None:
        """Underlines the error at this place; None removes the underline."""
        if place != self.error_at:
            self.error_at = place
            self.notify_style_update()
            self.refresh()

    def get_line(self, line_index: int) -> Text:
        raw = self.document.get_line(line_index)
        line = Text(visible(raw), end="", no_wrap=True)
        for start, end, kind in tokens(raw):
            line.stylize(self._style(f"json--{kind}"), start, end)
        if self.error_at is not None and self.error_at.line == line_index + 1:
            start = min(self.error_at.column - 1, max(0, len(raw) - 1))
            line.stylize(self._style("json--error"), start, _word_end(raw, start))
        return line

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)


class CommandEditor(JsonArea):
    """Sends the keys of its bindings as Command; all other keys type text. While it is read-only, they are the Command
    `locked`, since the screen would take them as commands."""

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

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        return character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        if self.read_only and (event.is_printable or event.key in ("backspace", "delete", "enter")):
            event.stop()
            event.prevent_default()
            self.post_message(self.Command("locked"))

    def action_apply(self) -> None:
        self.post_message(self.Command("apply"))

    def action_leave(self) -> None:
        self.post_message(self.Command("leave"))

    def action_reload(self) -> None:
        self.post_message(self.Command("reload"))


def _word_end(line: str, start: int) -> int:
    match = re.compile(r'"(?:[^"\\]|\\.)*"?|[\w.+-]+|.').match(line, start)
    return match.end() if match else start + 1
