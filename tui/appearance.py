"""Colours and keys as the user has them: themes and `config.toml`, read at start and again when the files change."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode

from tui import settings, themes
from tui.errors import HeadraceError
from tui.settings import Settings

LOOKS_EVERY = 1.0  # seconds between looks at the files' times


class Appearance:
    """Of one app. `say` hears what is wrong with the files; a bad one never keeps the screen away."""

    def __init__(self, app: App[Any], folder: Path, say: Callable[[str], None]) -> None:
        self.app, self.folder, self.say = app, folder, say
        self.complaints: list[str] = []
        self.of_user: list[str] = []  # names of the user's themes
        self._chosen = ""  # by the user while the program runs: the files do not take it back
        self._settings = Settings()
        self._seen = self._times()

    def load(self) -> None:
        """Before the first paint."""
        self.complaints = []
        try:
            self._settings = settings.load(self.folder)
        except HeadraceError as error:
            self.complaints.append(str(error))
        mine, complaints = themes.of_user(self.folder / "themes")
        self.complaints += complaints
        self.of_user = [theme.name for theme in mine]
        found = themes.by_name([*themes.bundled(), *mine])
        for theme in found.values():
            self.app.register_theme(theme.textual())
        self.app.theme = self._wanted(found)
        self.app.set_keymap(dict(self._settings.keys))

    def _wanted(self, found: Mapping[str, themes.Theme]) -> str:
        for name in (self._chosen, os.environ.get("HEADRACE_THEME", ""), self._settings.theme):
            if name in found:
                return name
            if f"headrace-{name}" in found:
                return f"headrace-{name}"
            if name:
                self.complaints.append(f"no theme {name!r}: there are {', '.join(found)}")
        return themes.default_for(os.environ)

    def choose(self, name: str) -> None:
        self._chosen = name
        self.app.theme = name

    def watch(self) -> None:
        """From the first paint on."""
        self._tell()
        self.app.set_interval(LOOKS_EVERY, self.look)
        self.app.set_timer(LOOKS_EVERY, self.check_keys)

    def look(self) -> None:
        """Reads the files again if one has changed."""
        if (now := self._times()) == self._seen:
            return
        self._seen = now
        before = self.app.theme
        self.load()
        if self.app.theme == before:  # the same name, and perhaps other colours
            self.app.refresh_css(animate=False)
        self._tell()
        self.check_keys()

    def _tell(self) -> None:
        if self.complaints:
            more = f" (and {len(self.complaints) - 1} more)" if self.complaints[1:] else ""
            self.say(self.complaints[0] + more)

    def _times(self) -> dict[str, int]:
        files = [self.folder / settings.FILE]
        with suppress(OSError):
            files += [Path(entry.path) for entry in os.scandir(self.folder / "themes")]
        return {str(file): time for file in files if (time := _time(file))}

    def check_keys(self) -> None:
        """Ids that nothing has, and keys that two bindings of one place would share: the user's is taken back there."""
        keymap = dict(self._settings.keys)
        if not keymap:
            return
        places = list(_places())
        known = {binding.id for place in places for binding in place.values() if binding.id}
        trouble = [f"no key has the id {name!r}{_meant(name, known)}" for name in keymap if name not in known]
        for place in places:
            for one, other, key in list(clashes(place, keymap)):
                trouble.append(f"{key} would be both {one} and {other}: [keys] {one} is left out")
                keymap.pop(one, None)
        if keymap != dict(self._settings.keys):
            self.app.set_keymap(keymap)
        self.complaints = [f"{settings.FILE}: {text}" for text in dict.fromkeys(trouble)]
        self._tell()


def _meant(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""


def _time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _places() -> Iterator[dict[str, Binding]]:
    """The bindings of each class of ours that is loaded, by id."""
    todo = list(DOMNode.__subclasses__())
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith("tui."):
            own = [binding for binding in vars(kind).get("BINDINGS", ()) if isinstance(binding, Binding)]
            if own:
                yield {binding.id or f"({binding.key})": binding for binding in own}


def clashes(place: Mapping[str, Binding], keymap: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A binding that the keymap moves, the one that it would meet, and the key."""
    keys = {name: _keys(keymap.get(name, binding.key)) for name, binding in place.items()}
    for name in keymap:
        for other in place:
            if name in place and other != name and (shared := keys[name] & keys[other]):
                yield name, other, min(shared)


def _keys(text: str) -> frozenset[str]:
    return frozenset(key.strip() for key in text.split(",") if key.strip())
