"""The Textual application: main screens, themes, clipboard, and the keys that work on every screen."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from tui import gc_tuning, hangup
from tui.appearance.appearance import Appearance
from tui.appearance.encoding import draw_similar_characters
from tui.appearance.rows import RowDriver, driver_for
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError
from tui.screens.base.key_catching import CatchesKeys, ReportsKeys, without_effect
from tui.screens.base.navigation import ChooseTheme, ConnectorCreated, OpenCluster
from tui.screens.base.too_small import TooSmall, is_too_small
from tui.screens.home import Home
from tui.screens.home.early_keys import EarlyKeys
from tui.user_folders import config_folder, state_folder

if TYPE_CHECKING:
    from tui.screens.base.copy_menu import CopyChoice
    from tui.screens.base.shown import ShownContents
    from tui.screens.palette.matching import PaletteEntry

LEFT = 1  # button of the mouse
QUESTION_DELAY = 0.25  # seconds


class HeadraceApp(App[int]):
    """Shows one cluster at a time, and keeps the main screens of other clusters opened in this session."""

    TITLE = "headrace"
    ENABLE_COMMAND_PALETTE = False  # ours has another screen
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+p", "palette", "palette", id="palette", show=False, priority=True),
        Binding(
            "ctrl+y",
            "copy_menu",
            "copy or export",
            id="copy",
            key_display="^y",
            show=False,
            priority=True,
            tooltip="copy a cell, the row, the table, the text or the screen, or write it to a file",
        ),
        Binding("ctrl+q", "leave", "quit", show=False, priority=True),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("f12", "picture", "screenshot into a file", id="screenshot", show=False),
        Binding("ctrl+z", "suspend_process", "to the shell; fg returns", show=False),
    ]
    CSS = """
    * { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.animation_level = "none"
        self._no_color_filter: tuple[str, LineFilter] | None = None  # for the theme named first; only under NO_COLOR
        self.copied = ""  # result of the last copy to the clipboard
        self.question_delay = QUESTION_DELAY
        self.homes: dict[str, Home] = {}  # by label; each keeps its marks and its filter
        self._early_keys = EarlyKeys(
            super().on_event,
            lambda: self.focused or self.screen,
            lambda: getattr(self.screen, "is_started", True),
        )
        self.appearance = Appearance(self, config_folder(os.environ), self._warn)
        self.appearance.load()

    def get_default_screen(self) -> Screen[None]:
        return self._home_of(self.profile)

    def _home_of(self, profile: Profile) -> Home:
        if profile.label not in self.homes:
            self.homes[profile.label] = home = Home(profile)
            self.install_screen(home, f"home of {profile.label}")  # so that it survives a change of cluster
        return self.homes[profile.label]

    # Navigation

    def on_open_cluster(self, event: OpenCluster) -> None:
        self.home.do(self._open_cluster(event))

    async def _open_cluster(self, event: OpenCluster) -> None:
        await self.go_to(event.profile)
        if event.text:
            self.home.report(event.text, "good")

    async def go_to(self, profile: Profile) -> None:
        """Shows another cluster. The previous one is watched only until its operations have ended."""
        previous, home = self.home, self._home_of(profile)
        while len(self.screen_stack) > 1:  # the first main screen stays at the bottom: a stack is never empty
            await self.pop_screen()
        self.profile = profile
        if home is not self.screen:
            await self.push_screen(home)
        if home is not previous:
            previous.rest()
            home.wake()

    def on_connector_created(self, event: ConnectorCreated) -> None:
        self.home.open_when_listed(event.name)

    def on_choose_theme(self, event: ChooseTheme) -> None:
        self.choose_theme(event.name)

    @property
    def home(self) -> Home:
        """The main screen of the current cluster."""
        return self.homes[self.profile.label]

    # The interface for screens: `tui.screens.base.program.Program`

    @property
    def profiles(self) -> list[Profile]:
        """The clusters that were opened in this session."""
        return [home.profile for home in self.homes.values()]

    @property
    def unsaved(self) -> list[str]:
        """Edited texts that quitting would lose, on any cluster, one line each."""
        return [
            line if home is self.home else f"{line} on {home.profile.label}"
            for home in self.homes.values()
            for line in home.unsaved
        ]

    @property
    def losses(self) -> list[str]:
        """Everything that quitting would lose: requests under way and edited texts, one line each."""
        return self.home.losses

    def discard_texts(self) -> None:
        """The operator quits without the edited texts: removes them from the disk."""
        for home in self.homes.values():
            if home.services is not None:
                home.services.texts.forget_all()

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a text in the status line of the main screen."""
        self.home.report(text, kind)

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver of this platform, without rows that the terminal shows already."""
        return driver_for(super().get_driver_class())

    def get_key_display(self, binding: Binding) -> str:
        """Function keys in capitals, as they are printed on keyboards."""
        key = super().get_key_display(binding)
        return key.upper() if key[:1] == "f" and key[1:].isdecimal() else key

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Under NO_COLOR, Textual's own filter would show grey tones; this one shows none."""
        if not self.no_color:
            return super().get_line_filters()
        if self._no_color_filter is None or self._no_color_filter[0] != self.theme:
            from tui.appearance.no_color import NoColorFilter

            self._no_color_filter = self.theme, NoColorFilter(self.theme_variables)
        return [self._no_color_filter[1]]

    def on_ready(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.call_later(self._repaint))
        self.appearance.watch()
        self.set_timer(gc_tuning.START_DURATION, gc_tuning.enable_after_start)

    def _warn(self, text: str) -> None:
        self.home.report(text, "warn")

    @property
    def themes_of_user(self) -> list[str]:
        return self.appearance.user_themes

    def _repaint(self) -> None:
        """After `fg`: the terminal no longer shows what Textual last drew."""
        self.screen.refresh(layout=True)

    def write_control(self, sequence: str) -> None:
        """Writes a control sequence to the terminal, such as a bell."""
        if self._driver is not None:
            self._driver.write(sequence)

    def copy_to_clipboard(self, text: str) -> None:
        """Copies through the terminal, or into a file; `copied` and the status line report which."""
        from tui import clipboard

        try:
            done = clipboard.copy(text, os.environ, state_folder(os.environ), clipboard.ask_tmux, clipboard.load_tmux)
        except OSError as error:
            done = clipboard.Copied("", f"cannot write {error.filename}: {error.strerror}")
        self._clipboard = text
        if done.sequence:
            self.write_control(done.sequence)
        self.copied = done.message
        self.home.report(done.message)

    def choose_theme(self, name: str) -> None:
        """`:theme NAME`; an empty name means the next theme."""
        known = [name for name in self.available_themes if name.startswith("headrace") or name in self.themes_of_user]
        wanted = name or known[(known.index(self.theme) + 1) % len(known)]
        theme_name = wanted if wanted in known else f"headrace-{wanted}"
        if theme_name in known:
            self.appearance.choose(theme_name)
        else:
            self.home.report(f"unknown theme {name!r}; choose from {', '.join(known)}", "bad")

    async def on_event(self, event: events.Event) -> None:
        """Keys wait until the screen has started and the key before has taken effect. A key shows that someone is
        looking. Other buttons of the mouse than the left one have no effect."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.home.nudge()
            await self._early_keys.handle(event)
        elif not (isinstance(event, events.MouseDown | events.MouseUp) and event.button != LEFT):
            await super().on_event(event)

    def on_screen_started(self) -> None:
        self._early_keys.release()

    def on_key(self, event: events.Key) -> None:
        """A key that no widget handled; bindings are checked afterwards."""
        screen = self.screen
        if isinstance(screen, CatchesKeys) and screen.catch(event):
            event.stop()
            event.prevent_default()
        elif isinstance(screen, ReportsKeys) and (note := without_effect(screen, event)):
            screen.report(note)

    def on_resize(self, event: events.Resize) -> None:
        if isinstance(self._driver, RowDriver):
            self._driver.resized()
        top = self.screen
        if is_too_small(event.size) and not isinstance(top, TooSmall):
            self.push_screen(TooSmall(event.size))
        elif isinstance(top, TooSmall):
            if is_too_small(event.size):
                top.set_size(event.size)
            else:
                self.pop_screen()

    def action_help(self) -> None:
        """The keys of the current screen; the main screen overrides this."""
        from tui.screens.base.reading import Reading, help_text

        active = list(self.screen.active_bindings.values())
        self.push_screen(Reading("help", partial(help_text, active, self.get_key_display)))

    def action_palette(self) -> None:
        """Opens the palette from the main screen and from pages, not over a question."""
        from tui.screens.base.page import Page
        from tui.screens.home.palette import entries
        from tui.screens.palette.palette import PaletteScreen

        if self.home.services is not None and isinstance(self.screen, Home | Page):
            self.push_screen(PaletteScreen(list(entries(self.home))), self._chosen)

    def _chosen(self, entry: PaletteEntry | None) -> None:
        if entry is None:
            return
        if entry.why_not:
            self.home.report(f"{entry.title}: {entry.why_not}", "warn")
        else:
            self.home.do(self._run_entry(entry))

    async def _run_entry(self, entry: PaletteEntry) -> None:
        """Entries act on the main screen, so pages over it are closed first."""
        while self.screen is not self.home:
            await self.pop_screen()
        entry.run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """^Y in a text field or an editor is for the text, unless this cannot be edited now."""
        focused = self.focused
        is_typing = focused is not None and focused.check_consume_key("a", "a")
        return action != "copy_menu" or not is_typing or getattr(focused, "read_only", False)

    def action_copy_menu(self) -> None:
        """Copies a part of the current screen, or writes it to a file."""
        from tui.screens.base.copy_menu import CopyMenu
        from tui.screens.base.shown import ShownContents

        if isinstance(self.screen, CopyMenu):
            self.screen.dismiss(None)
        elif not isinstance(self.screen, TooSmall):
            contents = ShownContents(self.screen)
            self.push_screen(CopyMenu(contents), partial(_take, contents))

    def action_picture(self) -> None:
        from datetime import datetime

        from tui.screenshot import save

        try:
            self.home.report(f"written to {save(self, state_folder(os.environ), datetime.now())}")
        except HeadraceError as error:
            self.home.report(str(error), "bad")

    def action_leave(self) -> None:
        """^Q: asks the same question as `q` on the main screen."""
        if isinstance(self.screen, Home):
            self.screen.action_quit()


def _take(contents: ShownContents, choice: CopyChoice | None) -> None:
    if choice is not None:
        contents.take(choice.part, "" if choice.to_file else None)


def run(profile: Profile) -> int:
    """Runs the console until it is closed; returns the exit code."""
    draw_similar_characters(sys.__stderr__)
    app = HeadraceApp(profile)

    async def run_until_signal() -> int | None:
        hangup.on_signal(asyncio.get_running_loop(), lambda code: app.exit(return_code=code))
        return await app.run_async()

    code = asyncio.run(run_until_signal())
    return app.return_code or code or 0
