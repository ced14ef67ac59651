"""A box over another screen: title, body and keys."""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui.screens.base import program
from tui.screens.base.navigation import ScreenStarted
from tui.widgets.bars import KeyBar

Returned = TypeVar("Returned")


class PopUp(ModalScreen[Returned]):
    """Subclasses yield the title (`#title`) and what follows it in `contents`."""

    DEFAULT_CSS = """
    PopUp { align: center middle; background: $background 60%; }
    PopUp > Vertical { width: 96%; height: 92%; background: $panel; border: round $border; padding: 0 1; }
    PopUp #title { text-style: bold; color: $accent; width: 1fr; }
    PopUp #hint { width: 1fr; }
    PopUp Grid, PopUp Pager { height: 1fr; background: $panel; }
    PopUp Pager { padding: 0; }
    PopUp KeyBar { background: $panel; padding: 0; }
    """

    is_started = False

    def on_mount(self) -> None:
        self.is_started = True
        self.post_message(ScreenStarted())

    def compose(self) -> ComposeResult:
        with Vertical():
            yield from self.contents()
            yield KeyBar()

    def contents(self) -> ComposeResult:
        raise NotImplementedError

    def action_close(self) -> None:
        self.dismiss(None)


class Question(PopUp[Returned]):
    """A pop-up that is `armed` once it has been visible long enough to be read: keys typed before do not confirm."""

    armed = False

    def on_mount(self) -> None:
        self.set_timer(program.of(self).question_delay, self.arm)

    def arm(self) -> None:
        self.armed = True
        self.refresh_bindings()
