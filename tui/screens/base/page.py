"""A full screen other than the main screen: title, body, status line, prompt, keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen

from tui.screens.base.key_catching import ReportsKeys
from tui.screens.base.navigation import ScreenStarted
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.bars import Bar, KeyBar, StatusBar
from tui.widgets.prompt import Prompt
from tui.widgets.text import visible


class Page(Screen[None], ReportsKeys):
    """Subclasses compose `body` and handle text typed after `/` or `=` in `submitted`."""

    DEFAULT_CSS = """
    Page { background: $background; color: $foreground; }
    Page #title { background: $surface; padding: 0 1; }
    Page #page-body { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", key_display="esc"),
        Binding("q", "back", "back", show=False),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("ctrl+c", "back", "back", show=False),
    ]

    CHANGES: ClassVar[tuple[str, ...]] = ()  # actions that only lead to changes

    def __init__(self, services: ClusterServices) -> None:
        super().__init__()
        self.services = services
        self.is_started = False

    def on_mount(self) -> None:
        self.is_started = True
        self.refresh_bindings()
        self.post_message(ScreenStarted())

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        with Vertical(id="page-body"):
            yield from self.body()
        yield StatusBar()
        yield Prompt(self.submitted)
        yield KeyBar()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def head(self, *parts: str | tuple[str, str], end: str = "") -> None:
        where = ("  " + visible(self.services.profile.label), "$text-muted")
        self.query_one("#title", Bar).put(Content.assemble(*parts, where), Content.assemble((end, "$text-muted")))

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a text in the status line, or in that of the main screen if this page was left meanwhile."""
        if self.is_attached:
            self.query_one(StatusBar).report(text, kind)
        else:
            self.services.report(text, kind)

    def submitted(self, sign: str, text: str) -> None:
        """Handles the text of the prompt after Enter; `sign` is its first character."""

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    def open_prompt(self, sign: str, text: str, completer: Callable[[str], list[str]]) -> None:
        self.prompt.history.setdefault(sign, [])
        self.prompt.open(sign, text, completer)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Textual also asks before the screen is mounted."""
        return self.is_started and not self.prompt.is_open and self.allows(action)

    def is_idle(self, action: str) -> bool:
        """Whether the footer hides the key: a read-only context forbids changes; pressing the key shows the reason."""
        return self.services.profile.read_only and action in self.CHANGES

    def allows(self, action: str) -> bool:
        """Whether the key works now."""
        return True

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open."""
        return self.is_started and self.prompt.catch(event)

    def action_back(self) -> None:
        self.dismiss(None)

    def action_help(self) -> None:
        from tui.screens.base import reading

        text = partial(reading.help_text, list(self.active_bindings.values()), self.app.get_key_display)
        self.app.push_screen(reading.Reading("help", text))
