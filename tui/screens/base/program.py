"""The interface of the application for screens; only the application knows all screens."""

from __future__ import annotations

from typing import Protocol, cast

from textual.dom import DOMNode

from tui.contexts.profiles import Profile


class Program(Protocol):
    """Implemented by `tui.app.HeadraceApp`."""

    copied: str  # result of the last copy to the clipboard
    question_delay: float  # seconds in which no user can have read a new question; it ignores keys until then

    @property
    def profiles(self) -> list[Profile]:
        """The clusters that were opened in this session."""

    @property
    def unsaved(self) -> list[str]:
        """Edited texts that quitting would lose, on any cluster, one line each."""

    @property
    def losses(self) -> list[str]:
        """Everything that quitting would lose: requests under way and edited texts, one line each."""

    def discard_texts(self) -> None:
        """The operator quits without the edited texts: removes them from the disk."""

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a text in the status line of the main screen."""

    def write_control(self, sequence: str) -> None:
        """Writes a control sequence to the terminal."""


def of(node: DOMNode) -> Program:
    """The application of a screen or a widget."""
    return cast(Program, node.app)


def copy(node: DOMNode, text: str, subject: str) -> str:
    """Copies the text to the clipboard, or to a file if there is none; shows and returns the result. An empty text
    does not replace what is there."""
    program = of(node)
    if text:
        node.app.copy_to_clipboard(text)
    result = f"{subject}: {program.copied if text else 'empty; nothing was copied'}"
    program.report(result)
    return result
