"""Keys that act in the order in which they were typed, however many arrive in one packet.

Textual runs bindings only after a key has bubbled up to the program; what was typed behind it, which the widget takes
at once, overtakes it. Keys that are already waiting at a widget stay there when the focus moves.
"""

from __future__ import annotations

from textual import events
from textual.binding import NoBinding
from textual.message import Message
from textual.widget import Widget


async def does_now(widget: Widget, key: str) -> bool:
    """Runs the screen's binding of a key without a detour. Whether there was one to run."""
    screen = widget.screen
    try:
        bindings = screen._bindings.get_bindings_for_key(key)
    except NoBinding:
        return False
    for one in bindings:
        if await widget.app.run_action(one.action, screen):
            return True
    return False


def forward(widget: Widget, event: events.Key) -> None:
    """To what has the focus now."""
    (widget.screen.focused or widget.screen)._forward_event(events.Key(event.key, event.character))


def hand_over(widget: Widget) -> None:
    """If the focus has left a widget, the keys that wait there go on to where it is."""
    if widget.screen.focused is widget:
        return
    for message in _waiting(widget):
        if isinstance(message, events.Key):
            forward(widget, message)
        else:
            widget._message_queue.put_nowait(message)


def _waiting(widget: Widget) -> list[Message | None]:
    """None is the last one of a widget that is being removed."""
    found: list[Message | None] = [] if widget._pending_message is None else [widget._pending_message]
    widget._pending_message = None
    while not widget._message_queue.empty():
        found.append(widget._message_queue.get_nowait())
    return found
