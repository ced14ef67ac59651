"""Screens with a prompt, which take the keys typed directly after the key that opens it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from textual import events


@runtime_checkable
class CatchesKeys(Protocol):
    """Keys that arrive in one packet are all sent to the widget that has the focus before the first one acts."""

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open. Returns whether the key was taken."""
