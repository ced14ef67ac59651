"""Keys that no widget handled: typed directly after the key that opens a prompt, or without an effect."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from textual import events
from textual.screen import Screen

from tui.widgets.bars import StatusBar


@runtime_checkable
class CatchesKeys(Protocol):
    """Keys that arrive in one packet are all sent to the widget that has the focus before the first one acts."""

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open. Returns whether the key was taken."""


class ReportsKeys:
    """A screen that reports keys without an effect in its status line. Not a protocol, which any screen would follow
    that has a method of this name."""

    def report(self, text: str, kind: str = "info") -> None:
        raise NotImplementedError


@runtime_checkable
class ExplainsKeys(Protocol):
    """A screen or a page that knows why some of its keys do not work now."""

    def why_not(self, action: str) -> str:
        """The reason; empty if there is no better one than that the key does not work here."""


def without_effect(screen: Screen[Any], event: events.Key) -> str:
    """A note that a key has no effect, with the reason; empty if the key has one or only moves, or a new error is
    shown."""
    is_command = event.is_printable or event.key.startswith("ctrl+")
    has_error = any(bar.shows_new_error for bar in screen.query(StatusBar))
    if not is_command or has_error or event.key in screen.active_bindings:
        return ""
    for node, bindings in screen._modal_binding_chain:  # with the configured keys
        for binding in bindings.key_to_bindings.get(event.key, ()):
            reason = node.why_not(binding.action) if isinstance(node, ExplainsKeys) else ""
            return f"{screen.app.get_key_display(binding)} {binding.description}: {reason or 'not possible here'}"
    key = event.character if event.is_printable and event.character else event.key.replace("ctrl+", "^")
    return f"{key.strip() or event.key} has no function here; ? shows the keys that have one"
