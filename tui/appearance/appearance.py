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

from tui.appearance import settings, themes
from tui.appearance.settings import Settings

LOOKS_EVERY = 1.0  # seconds between looks at the files' times


class Appearance:
    """Of one app. `say` hears what is wrong with the files; a bad one never keeps the screen away."""

    def __init__(self, app: App[Any], folder: Path, say: Callable[[str], None]) -> None:
        self.app, self.folder, self.say = app, folder, say
        self._of_files: list[str] = []  # what is wrong with them
        self._of_keys: list[str] = []
        self.of_user: list[str] = []  # names of the user's themes
        self._chosen = ""  # by the user while the program runs: the files do not take it back
        self._settings = Settings()
        self._seen = self._times()

    def load(self) -> None:
        """Before the first paint."""
        self._settings, self._of_files = settings.load(self.folder)
        found, mine, complaints = _themes(self.folder)
        self._of_files += complaints
        self.of_user = [theme.name for theme in mine]
        for theme in found.values():
            self.app.register_theme(theme.textual())
        self.app.theme = self._wanted(found)
        self.app.set_keymap(dict(self._settings.keys))

    @property
    def complaints(self) -> list[str]:
        """All that is wrong with the files."""
        return [*self._of_files, *self._of_keys]

    def _wanted(self, found: Mapping[str, themes.Theme]) -> str:
        theme, complaints = _wanted(found, self._chosen, os.environ.get("HEADRACE_THEME", ""), self._settings.theme)
        self._of_files += complaints
        return theme

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
        if found := self.complaints:
            more = f" (and {len(found) - 1} more, see `:config`)" if found[1:] else ""
            self.say(found[0] + more)

    def _times(self) -> dict[str, int]:
        files = [self.folder / settings.FILE]
        with suppress(OSError):
            files += [Path(entry.path) for entry in os.scandir(self.folder / "themes")]
        return {str(file): time for file in files if (time := _time(file))}

    def check_keys(self) -> None:
        """Ids that nothing has, and keys that two bindings of one place would share: the user's is taken back there."""
        before = self._of_keys
        keymap, self._of_keys = _usable(self._settings.keys)
        if keymap != dict(self._settings.keys):
            self.app.set_keymap(keymap)
        if self._of_keys != before:
            self._tell()


def problems(folder: Path) -> list[str]:
    """All that is wrong with the user's files: what the screen would say. The keys' classes have to be loaded."""
    mine, found = settings.load(folder)
    there, _, complaints = _themes(folder)
    _, of_theme = _wanted(there, os.environ.get("HEADRACE_THEME", ""), mine.theme)
    return [*found, *complaints, *of_theme, *_usable(mine.keys)[1]]


def _themes(folder: Path) -> tuple[dict[str, themes.Theme], list[themes.Theme], list[str]]:
    """All by name, the user's own, and what is wrong with those."""
    mine, complaints = themes.of_user(folder / "themes")
    return themes.by_name([*themes.bundled(), *mine]), mine, complaints


def _wanted(found: Mapping[str, themes.Theme], *names: str) -> tuple[str, list[str]]:
    """The first of these that there is; what is said of those before it that there are not."""
    complaints: list[str] = []
    for name in filter(None, names):
        for full in (name, f"headrace-{name}"):
            if full in found:
                return full, complaints
        complaints.append(f"no theme {name!r}: there are {', '.join(found)}")
    return themes.default_for(os.environ), complaints


def _usable(keys: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The keymap without what clashes, and what is wrong: a key that does something else than meant comes first."""
    keymap = dict(keys)
    if not keymap:
        return keymap, []
    places = list(_places())
    known = {binding.id for place in places for binding in place.values() if binding.id}
    trouble = []
    for place in places:
        for one, other, key in list(clashes(place, keymap)):
            trouble.append(f"{key} would be both {one} and {other}: [keys] {one} is left out")
            keymap.pop(one, None)
    trouble += [f"no key has the id {name!r}{_meant(name, known)}" for name in keys if name not in known]
    return keymap, [f"{settings.FILE}: {text}" for text in dict.fromkeys(trouble)]


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
