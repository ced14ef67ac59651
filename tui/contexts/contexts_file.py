"""The user's contexts, clusters by name, in `contexts.toml` of the XDG config folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui import private_file
from tui.contexts.profiles import Contexts, InvalidContext, Profile, profile_of, table_of
from tui.errors import HeadraceError, UsageError
from tui.formatting import did_you_mean

_KEYS = ("current", "contexts")


class ContextsFile:
    """Reads the file, and replaces it atomically. Raises HeadraceError if that fails."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Contexts:
        try:
            text = private_file.read(self.path, "utf-8-sig")
        except (FileNotFoundError, NotADirectoryError):  # the latter with HOME=/dev/null, as services have it
            return Contexts()
        except OSError as error:
            raise HeadraceError(f"cannot read {self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:  # whose text would show the content, which may hold passwords
            raise HeadraceError(f"{self.path} is not UTF-8: {error.reason} at byte {error.start}") from None
        import tomllib

        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise HeadraceError(f"{self.path} is not TOML: {error}") from error
        if unknown := sorted(content.keys() - {*_KEYS}):
            raise HeadraceError(
                f"{self.path} has the unknown key {unknown[0]!r}; expected current and [contexts.NAME]",
                did_you_mean(unknown[0], _KEYS),
            )
        if not isinstance(content.get("current", ""), str):
            raise HeadraceError(f"{self.path}: current must be the name of a context")
        entries = content.get("contexts", {})
        if not isinstance(entries, dict):
            raise HeadraceError(f"{self.path}: contexts must be a table")
        named, invalids = dict[str, Profile](), dict[str, InvalidContext]()
        for name, table in entries.items():
            try:
                named[name] = profile_of(name, table)
            except UsageError as error:
                invalids[name] = InvalidContext(str(error), table)
        return Contexts(content.get("current", ""), named, invalids)

    def get(self, name: str) -> Profile:
        contexts = self.load()
        self.require(contexts, name)
        if name in contexts.invalid:
            raise HeadraceError(f"{self.path}: {contexts.invalid[name].reason}")
        return contexts.profiles[name]

    def require(self, contexts: Contexts, name: str) -> None:
        """Raises UsageError for an unknown name."""
        if name not in contexts.names:
            known = f"choose from: {', '.join(contexts.names)}" if contexts.names else "it has no contexts"
            raise UsageError(f"unknown context {name!r} in {self.path}; {known}", did_you_mean(name, contexts.names))

    def put(self, profile: Profile) -> None:
        """Adds or replaces a context. Raises UsageError, and writes nothing, if it is invalid."""
        profile_of(profile.name, table_of(profile))
        with self._changing():
            contexts = self.load()
            invalids = {name: invalid for name, invalid in contexts.invalid.items() if name != profile.name}
            self._write(Contexts(contexts.current, {**contexts.profiles, profile.name: profile}, invalids))

    def use(self, name: str) -> None:
        self.get(name)
        with self._changing():
            self._write(self.load()._replace(current=name))

    def remove(self, name: str) -> None:
        self.require(self.load(), name)
        with self._changing():
            contexts = self.load()
            rest = {key: profile for key, profile in contexts.profiles.items() if key != name}
            invalids = {key: invalid for key, invalid in contexts.invalid.items() if key != name}
            self._write(Contexts("" if contexts.current == name else contexts.current, rest, invalids))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keeps other consoles from changing the file between its reading and its writing."""
        try:
            with private_file.locked(self.path):
                yield
        except OSError as error:
            raise HeadraceError(f"cannot write {self.path}: {error.strerror}") from error

    def _write(self, contexts: Contexts) -> None:
        private_file.store(self.path, _toml(contexts))


def _toml(contexts: Contexts) -> str:
    """The file's text: the current context, then a table for each context. Invalid contexts are kept unchanged."""
    import tomli_w

    tables = {name: table_of(profile) for name, profile in contexts.profiles.items()}
    tables |= {name: invalid.content for name, invalid in contexts.invalid.items()}
    content: dict[str, Any] = {"current": contexts.current} if contexts.current else {}
    return tomli_w.dumps(content | {"contexts": dict(sorted(tables.items()))})
