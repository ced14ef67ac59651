"""The user's themes and keys, read at start and again when their files change."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode

from tui.appearance import own_commands, settings, themes
from tui.appearance.settings import Settings

CHECK_INTERVAL = 1.0  # seconds between checks of the files' times


class Appearance:
    """The appearance of an app. Problems in the files are reported to `say`, and never prevent the start."""

    def __init__(self, app: App[Any], folder: Path, report: Callable[[str], None]) -> None:
        self.app, self.folder, self.report = app, folder, report
        self._file_problems: list[str] = []
        self._key_problems: list[str] = []
        self.user_themes: list[str] = []  # names of the user's themes
        self._chosen = ""  # the theme chosen at run time, which overrides the files
        self._settings = Settings()
        self._seen = self._times()

    def load(self) -> None:
        """Loads settings and themes; call before the first paint."""
        self._settings, self._file_problems = settings.load(self.folder)
        themes, mine, problems = _themes(self.folder)
        self._file_problems += problems
        self.user_themes = [theme.name for theme in mine]
        for theme in themes.values():
            self.app.register_theme(theme.textual())
        self.app.theme = self._wanted(themes)
        self.app.set_keymap(dict(self._settings.keys))

    @property
    def problems(self) -> list[str]:
        """All problems in the files."""
        return [*self._file_problems, *self._key_problems]

    def _wanted(self, themes: Mapping[str, themes.Theme]) -> str:
        theme, problems = _wanted(themes, self._chosen, os.environ.get("HEADRACE_THEME", ""), self._settings.theme)
        self._file_problems += problems
        return theme

    def choose(self, name: str) -> None:
        """Sets the theme until the program ends."""
        self._chosen = name
        self.app.theme = name

    def watch(self) -> None:
        """Reports problems and starts watching the files; call after the first paint."""
        self._report()
        self.app.set_interval(CHECK_INTERVAL, self.reload_if_changed)
        self.app.set_timer(CHECK_INTERVAL, self.check_keys)

    def reload_if_changed(self) -> None:
        """Loads the files again if any has changed."""
        if (now := self._times()) == self._seen:
            return
        self._seen = now
        before = self.app.theme
        self.load()
        if self.app.theme == before:  # its colours may have changed
            self.app.refresh_css(animate=False)
        self._report()
        self.check_keys()

    def _report(self) -> None:
        if problems := self.problems:
            more = f" (and {len(problems) - 1} more, see `:config`)" if problems[1:] else ""
            self.report(problems[0] + more)

    def _times(self) -> dict[str, int]:
        files = [self.folder / settings.FILE]
        with suppress(OSError):
            files += [Path(entry.path) for entry in os.scandir(self.folder / "themes")]
        return {str(file): time for file in files if (time := _time(file))}

    def check_keys(self) -> None:
        """Reports unknown ids and conflicting keys; a conflicting key of the user is ignored."""
        before = self._key_problems
        keymap, self._key_problems = _usable(self._settings.keys)
        if keymap != dict(self._settings.keys):
            self.app.set_keymap(keymap)
        if self._key_problems != before:
            self._report()


def problems(folder: Path) -> list[str]:
    """All problems in the user's files, as the screen reports them. The classes with key bindings must be imported."""
    mine, errors = settings.load(folder)
    existing, _, of_themes = _themes(folder)
    _, of_theme = _wanted(existing, os.environ.get("HEADRACE_THEME", ""), mine.theme)
    of_commands = [f"{settings.FILE}: {text}" for text in own_commands.parse(mine.commands)[1]]
    return [*errors, *of_themes, *of_theme, *_usable(mine.keys)[1], *of_commands]


def _themes(folder: Path) -> tuple[dict[str, themes.Theme], list[themes.Theme], list[str]]:
    """All themes by name, the user's own themes, and the problems in the user's files."""
    mine, problems = themes.user_themes(folder / "themes")
    return themes.by_name([*themes.bundled(), *mine]), mine, problems


def _wanted(by_name: Mapping[str, themes.Theme], *names: str) -> tuple[str, list[str]]:
    """The first existing theme of these names, and a problem for each unknown one before it."""
    problems: list[str] = []
    for name in filter(None, names):
        for full in (name, f"headrace-{name}"):
            if full in by_name:
                return full, problems
        problems.append(f"unknown theme {name!r}; choose from {', '.join(by_name)}")
    return themes.default_for(os.environ), problems


def _usable(keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap without conflicting keys, and the problems: conflicts first, then unknown ids."""
    keymap = dict(keys)
    if not keymap:
        return keymap, []
    places = list(_places())
    known = {binding.id for place in places for binding in place.values() if binding.id}
    problems = []
    for place in places:
        for this, other, key in list(clashes(place, keymap)):
            problems.append(f"{key} is assigned to both {this} and {other}: [keys] {this} is ignored")
            keymap.pop(this, None)
    problems += [f"unknown key id {name!r}{_meant(name, known)}" for name in keys if name not in known]
    return keymap, [f"{settings.FILE}: {text}" for text in dict.fromkeys(problems)]


def _meant(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _places() -> Iterator[dict[str, Binding]]:
    """The bindings of each imported class of the console, by id."""
    todo = list(DOMNode.__subclasses__())
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith("tui."):
            own = [binding for binding in vars(kind).get("BINDINGS", ()) if isinstance(binding, Binding)]
            if own:
                yield {binding.id or f"({binding.key})": binding for binding in own}


def clashes(place: Mapping[str, Binding], keymap: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Conflicts: a binding of the keymap, the other binding, and the key that they share."""
    keys = {name: _keys(keymap.get(name, binding.key)) for name, binding in place.items()}
    for name in keymap:
        for other in place:
            if name in place and other != name and (shared := keys[name] & keys[other]):
                yield name, other, min(shared)


def _keys(text: str) -> frozenset[str]:
    return frozenset(key.strip() for key in text.split(",") if key.strip())
