"""The editor for a config with which a connector will be created, in this cluster or another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Label, TextArea

from tui.config.changes import changes, merged
from tui.config.secrets import is_masked, shown
from tui.config.text import ConfigFormat, read, write
from tui.formatting import counted
from tui.screens.base.pop_up import PopUp
from tui.screens.config.editor import ConfigEditor
from tui.widgets.text import visible


class KeptEditor(ConfigEditor):
    """The config editor with the keys of a dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "apply", "keep", key_display="^s"),
        Binding("escape,ctrl+c", "leave", "discard", key_display="esc"),
    ]


class ValuesEditor(PopUp[dict[str, str] | None]):
    """Returns the edited config, None if it was not changed. A masked secret stands for its unchanged value;
    `passwords` are the keys of type PASSWORD."""

    DEFAULT_CSS = """
    ValuesEditor ConfigEditor { height: 1fr; }
    """

    def __init__(self, title: str, config: Mapping[str, str], passwords: Collection[str] = ()) -> None:
        super().__init__()
        self.title_text, self.base, self.passwords = title, dict(config), passwords

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        yield KeptEditor()
        yield Label("", id="hint")

    @property
    def editor(self) -> ConfigEditor:
        return self.query_one(ConfigEditor)

    def on_mount(self) -> None:
        self.editor.load_text(write(shown(self.base, self.passwords), self.editor.form))
        self.editor.focus()
        self._check()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._check()

    def _check(self) -> None:
        parsed = read(self.editor.text, self.editor.form)
        self.editor.mark_all(parsed.problems)
        if parsed.problems:
            first = parsed.problems[0]
            text, style = f"✗ line {first.place.line}: {first.message}", "$error"
        elif self.masks:
            text, style = f"! {', '.join(self.masks)}: replace the mask by the value", "$warning"
        else:
            differences = changes(self.base, parsed.config)
            text, style = (
                (f"{counted(len(differences), 'key')} changed" if differences else "no change yet"),
                "$text-muted",
            )
        self.query_one("#hint", Label).update(Content.assemble((visible(text), style)))

    @property
    def masks(self) -> list[str]:
        """Keys whose value is a mask without a value behind it."""
        return [key for key, value in self.edited.items() if is_masked(value)]

    @property
    def edited(self) -> dict[str, str]:
        """The config of the text, with the values behind masks."""
        return merged(self.base, changes(self.base, read(self.editor.text, self.editor.form).config))

    def on_command_editor_command(self, event: ConfigEditor.Command) -> None:
        event.stop()
        getattr(self, f"_{event.action}")()

    def _apply(self) -> None:
        if not read(self.editor.text, self.editor.form).problems:
            self.dismiss(self.edited if self.edited != self.base else None)

    def _leave(self) -> None:
        self.dismiss(None)

    def _convert(self) -> None:
        parsed = read(self.editor.text, self.editor.form)
        if not parsed.problems:
            self.editor.form = self.editor.form.other
            self.editor.load_text(write(parsed.config, self.editor.form))

    def _reload(self) -> None:
        self.editor.form = ConfigFormat.JSON
        self.editor.load_text(write(shown(self.base, self.passwords), self.editor.form))
