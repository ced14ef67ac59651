"""The editor of a dead letter's value, before the letter is replayed."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label, TextArea

from tui.screens.base.pop_up import PopUp
from tui.topics.byte_views import ByteView, best_view, compacted, indented
from tui.widgets.jsontext import JsonArea
from tui.widgets.text import visible

MAX_EDITED = 256 * 1024  # bytes of a value that can be edited


class LetterEditor(PopUp[bytes | None]):
    """Returns the edited value, None if it was not changed."""

    DEFAULT_CSS = """
    LetterEditor #hint { color: $text-muted; }
    LetterEditor JsonArea { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "keep", "keep for the replay", key_display="^s"),
        Binding("escape,ctrl+c", "leave", "discard", key_display="esc"),
    ]

    def __init__(self, title: str, value: bytes) -> None:
        super().__init__()
        self.title_text, self.value = title, value
        self.before = indented(value.decode()) if best_view(value) is ByteView.JSON else value.decode()

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        yield JsonArea(id="value")
        yield Label("", id="hint")

    def on_mount(self) -> None:
        area = self.query_one(JsonArea)
        area.load_text(self.before)
        area.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.query_one("#hint", Label).update(Content(visible(_form(event.text_area.text))))

    def action_keep(self) -> None:
        text = self.query_one(JsonArea).text
        self.dismiss(None if text == self.before else edited(self.value, text))

    def action_leave(self) -> None:
        self.dismiss(None)


def why_not_editable(value: bytes | None) -> str:
    """The reason why a value cannot be edited as text; empty if it can."""
    if value is None:
        return "the record has no value"
    if best_view(value) is ByteView.HEX:
        return "the value is not text: export the record and produce it with a tool for its format"
    return "the value is too large to edit here" if len(value) > MAX_EDITED else ""


def edited(before: bytes, text: str) -> bytes:
    """The text as bytes; JSON that was on one line stays on one line."""
    if best_view(before) is ByteView.JSON and b"\n" not in before.strip():
        try:
            return compacted(text).encode()
        except ValueError:
            pass
    return text.encode()


def _form(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}"
    return "valid JSON"
