"""The contexts a user has: clusters by name, in `contexts.toml` of the XDG config folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tui.errors import HeadraceError, UsageError


@dataclass(frozen=True, slots=True)
class Profile:
    """One cluster and how it is treated. A profile without a name was given by its URL."""

    url: str
    name: str = ""
    username: str = ""
    password: str = ""
    ca: str = ""
    read_only: bool = False
    production: bool = False
    bootstrap: str = ""  # Kafka's own address, for what REST cannot say
    record: str = ""  # a file to record this session to; never stored
    replay: str = ""  # a recording to show instead of a cluster; never stored

    @property
    def label(self) -> str:
        return self.name or self.url


@dataclass(frozen=True, slots=True)
class Contexts:
    """The file's content."""

    current: str = ""
    profiles: Mapping[str, Profile] = field(default_factory=dict)


def config_folder(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "headrace"


class Profiles:
    """Reads and writes the file; each change is a whole new file put in place of the old."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Contexts:
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return Contexts()
        except OSError as error:
            raise HeadraceError(f"cannot read {self.path}: {error.strerror}") from error
        import tomllib

        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise HeadraceError(f"{self.path} is not TOML: {error}") from error
        named = {name: self._profile(name, table) for name, table in content.get("contexts", {}).items()}
        return Contexts(str(content.get("current", "")), named)

    def _profile(self, name: str, table: Any) -> Profile:
        if not isinstance(table, dict) or not isinstance(table.get("url"), str):
            raise HeadraceError(f"{self.path}: context {name!r} has no url")
        known = {key.replace("-", "_"): value for key, value in table.items()}
        unknown = known.keys() - _KEYS.keys()
        if unknown:
            raise HeadraceError(f"{self.path}: context {name!r} has the unknown key {sorted(unknown)[0]!r}")
        for key, value in known.items():
            if not isinstance(value, _KEYS[key]):
                raise HeadraceError(f"{self.path}: context {name!r}: {key} is no {_KEYS[key].__name__}")
        return Profile(name=name, **known)

    def get(self, name: str) -> Profile:
        profiles = self.load().profiles
        if name not in profiles:
            there = ", ".join(sorted(profiles)) or "none yet"
            raise UsageError(f"no context {name!r} in {self.path} (there: {there})")
        return profiles[name]

    def put(self, profile: Profile) -> None:
        contexts = self.load()
        self._write(replace(contexts, profiles={**contexts.profiles, profile.name: profile}))

    def use(self, name: str) -> None:
        self.get(name)
        self._write(replace(self.load(), current=name))

    def remove(self, name: str) -> None:
        self.get(name)
        contexts = self.load()
        rest = {key: profile for key, profile in contexts.profiles.items() if key != name}
        self._write(Contexts("" if contexts.current == name else contexts.current, rest))

    def _write(self, contexts: Contexts) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft = self.path.with_suffix(f".{os.getpid()}")
            # Passwords may be in it: nobody else reads it, not even for the moment before a chmod.
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(_toml(contexts))
            draft.replace(self.path)
        except OSError as error:
            raise HeadraceError(f"cannot write {self.path}: {error.strerror}") from error


_KEYS: dict[str, type] = {
    entry.name: (bool if entry.name in ("read_only", "production") else str)
    for entry in fields(Profile)
    if entry.name not in ("name", "record", "replay")
}


def _toml(contexts: Contexts) -> str:
    lines = [f"current = {_string(contexts.current)}"] if contexts.current else []
    for name, profile in sorted(contexts.profiles.items()):
        lines += ["", f"[contexts.{_string(name)}]"]
        for key, kind in _KEYS.items():
            value = getattr(profile, key)
            if value:
                lines.append(f"{key.replace('_', '-')} = {'true' if kind is bool else _string(value)}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _string(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
