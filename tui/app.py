"""The screen's program: themes, the main screen, and what holds wherever one is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.filter import LineFilter
from textual.screen import Screen

from tui import gc_tuning
from tui.appearance.appearance import Appearance
from tui.contexts.contexts_file import config_folder
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError
from tui.screens.base.too_small import TooSmall, is_too_small
from tui.screens.home import Home


def _palette() -> type[Provider]:
    from tui.screens.home.palette import Everything

    return Everything


class HeadraceApp(App[int]):
    """One cluster on the screen."""

    TITLE = "headrace"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_palette}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "quit", show=False, priority=True),
        Binding("question_mark", "help", "help", show=False),
        Binding("f12", "picture", "screenshot into a file", id="screenshot", show=False),
        Binding("ctrl+z", "suspend_process", "to the shell; fg comes back", show=False),
    ]
    CSS = """
    * { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.animation_level = "none"
        self._uncoloured: tuple[str, LineFilter] | None = None  # of which theme, and under NO_COLOR only
        self.copied = ""  # what became of the last copy
        self.homes: dict[str, Home] = {}  # by label: what was marked and filtered there is found again
        self.appearance = Appearance(self, config_folder(os.environ), self._warn)
        self.appearance.load()

    def get_default_screen(self) -> Screen[None]:
        return self._home_of(self.profile)

    def _home_of(self, profile: Profile) -> Home:
        if profile.label not in self.homes:
            self.homes[profile.label] = home = Home(profile)
            self.install_screen(home, f"home of {profile.label}")  # so that it outlives the change to another one
        return self.homes[profile.label]

    async def go_to(self, profile: Profile) -> None:
        """Another cluster, without a restart; the one that is left is watched only while something is under way."""
        left, there = self.home, self._home_of(profile)
        while len(self.screen_stack) > 1:  # the first main screen stays at the bottom: a stack is never empty
            await self.pop_screen()
        self.profile = profile
        if there is not self.screen:
            await self.push_screen(there)
        if there is not left:
            left.rest()
            there.wake()

    @property
    def unsaved(self) -> list[str]:
        """What would be lost, on any cluster, a line each."""
        return [
            line if home is self.home else f"{line} on {home.profile.label}"
            for home in self.homes.values()
            for line in home.unsaved
        ]

    @property
    def home(self) -> Home:
        """The main screen of the cluster that is looked at."""
        return self.homes[self.profile.label]

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The toolkit's own answer to NO_COLOR is greys."""
        if not self.no_color:
            return super().get_line_filters()
        if self._uncoloured is None or self._uncoloured[0] != self.theme:
            from tui.appearance.no_color import NoColorFilter

            self._uncoloured = self.theme, NoColorFilter(self.theme_variables)
        return [self._uncoloured[1]]

    def on_ready(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.call_later(self._paint_anew))
        self.appearance.watch()
        self.set_timer(gc_tuning.START_DURATION, gc_tuning.enable_after_start)

    def _warn(self, text: str) -> None:
        self.home.say(text, "warn")

    @property
    def themes_of_user(self) -> list[str]:
        return self.appearance.of_user

    def _paint_anew(self) -> None:
        """After `fg`: the terminal shows nothing of what the program believes to be there."""
        self.screen.refresh(layout=True)

    def copy_to_clipboard(self, text: str) -> None:
        """By way of the terminal or into a file; `copied` says which, and so does the main screen."""
        from tui import clipboard
        from tui.offsets.files import state_folder

        try:
            done = clipboard.copy(text, os.environ, state_folder(os.environ), clipboard.ask_tmux, clipboard.load_tmux)
        except OSError as error:
            done = clipboard.Copied("", f"cannot write {error.filename}: {error.strerror}")
        self._clipboard = text
        if done.sequence and self._driver is not None:
            self._driver.write(done.sequence)
        self.copied = done.message
        self.home.say(done.message)

    def choose_theme(self, words: list[str]) -> None:
        """`:theme NAME`; without a name the next one."""
        known = [name for name in self.available_themes if name.startswith("headrace") or name in self.themes_of_user]
        name = words[0] if words else known[(known.index(self.theme) + 1) % len(known)]
        name = name if name in known else f"headrace-{name}"
        if name in known:
            self.appearance.choose(name)
        else:
            self.home.say(f"no theme {words[0]!r}: there are {', '.join(known)}", "bad")

    def on_key(self, event: events.Key) -> None:
        """What no widget took; bindings come after this."""
        if isinstance(self.screen, Home) and self.screen.catch(event):
            event.stop()
            event.prevent_default()

    def on_resize(self, event: events.Resize) -> None:
        top = self.screen
        if is_too_small(event.size) and not isinstance(top, TooSmall):
            self.push_screen(TooSmall())
        elif isinstance(top, TooSmall):
            if is_too_small(event.size):
                top.tell(event.size)
            else:
                self.pop_screen()

    def action_help(self) -> None:
        """The keys that work on the screen that is looked at; the main screen has a help of its own."""
        from tui.screens.base.reading import Reading, help_text

        active = list(self.screen.active_bindings.values())
        self.push_screen(Reading("help", partial(help_text, active, self.get_key_display)))

    def action_picture(self) -> None:
        from datetime import datetime

        from tui.offsets.files import state_folder
        from tui.screenshot import save

        try:
            self.home.say(f"written to {save(self, state_folder(os.environ), datetime.now())}")
        except HeadraceError as error:
            self.home.say(str(error), "bad")

    def action_leave(self) -> None:
        """Asks where the main screen would."""
        if isinstance(self.screen, Home):
            self.screen.action_quit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        return ()


def run(profile: Profile) -> int:
    """The whole screen; its exit code."""
    app = HeadraceApp(profile)
    code = app.run()
    return app.return_code or code or 0
