"""A text field of one line."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.binding import Binding
from textual.widgets import Input

from tui.widgets.in_order import forward, forward_queued, run_screen_binding

EDITING = {
    key.strip(): binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
}
del EDITING["ctrl+c"]  # ends the program, as everywhere


class TextField(Input):
    """Enter calls `entered` immediately. Only the first line of pasted text is inserted, and pasting never confirms."""

    def __init__(self, entered: Callable[[], None], value: str = "", hint: str = "", id: str | None = None) -> None:
        super().__init__(value, hint, compact=True, select_on_focus=False, id=id)
        self.entered = entered

    def on_mount(self) -> None:
        """Removes keys that the screen handles, so that the footer shows the screen's bindings."""
        taken = self.screen._bindings.key_to_bindings.keys() - EDITING.keys() | {"enter"}
        known = self._bindings.key_to_bindings
        self._bindings.key_to_bindings = {key: bindings for key, bindings in known.items() if key not in taken}

    async def on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:
            forward(self, event)
        elif (action := EDITING.get(event.key)) is not None:
            await self.run_action(action)
        elif event.is_printable or not await run_screen_binding(self, event.key):
            return
        event.stop()
        event.prevent_default()
        forward_queued(self)

    async def action_submit(self) -> None:
        self.entered()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Inserts the first line of the text."""
        lines = text.strip().splitlines()
        if lines:
            self.replace(lines[0].strip(), *self.selection)
