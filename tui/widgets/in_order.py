"""Processes keys in the order in which they were typed, even if several arrive in one packet.

Textual runs a binding only after its key has bubbled up to the app, so later keys that a widget handles directly would
overtake it. Keys that are already queued at a widget stay there when the focus moves.
"""

from __future__ import annotations

from textual import events
from textual.binding import NoBinding
from textual.message import Message
from textual.widget import Widget


async def run_screen_binding(widget: Widget, key: str) -> bool:
    """Runs the screen's binding of a key directly; returns False if there is none."""
    screen = widget.screen
    try:
        bindings = screen._bindings.get_bindings_for_key(key)
    except NoBinding:
        return False
    for binding in bindings:
        if await widget.app.run_action(binding.action, screen):
            return True
    return False


def forward(widget: Widget, event: events.Key) -> None:
    """Forwards the key to the focused widget."""
    (widget.screen.focused or widget.screen)._forward_event(events.Key(event.key, event.character))


def forward_queued(widget: Widget) -> None:
    """If a widget has lost the focus, forwards the keys queued there to the focused widget."""
    if widget.screen.focused is widget:
        return
    for message in _queued_messages(widget):
        if isinstance(message, events.Key):
            forward(widget, message)
        else:
            widget._message_queue.put_nowait(message)


def _queued_messages(widget: Widget) -> list[Message | None]:
    """The queued messages; None is the last message of a widget that is being removed."""
    messages: list[Message | None] = [] if widget._pending_message is None else [widget._pending_message]
    widget._pending_message = None
    while not widget._message_queue.empty():
        messages.append(widget._message_queue.get_nowait())
    return messages
