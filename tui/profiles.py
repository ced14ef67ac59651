"""The contexts a user has: clusters by name, in `contexts.toml` of the XDG config folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tui.errors import HeadraceError, UsageError
from tui.scrubbing import without_user


class Profile(NamedTuple):
    """One cluster and how it is treated. A profile without a name was given by its URL. Secrets (password, token,
    key_password, headers, client) may be references, and are resolved where a connection is made: see `tui.secrets`."""

    url: str
    name: str = ""
    username: str = ""
    password: str = ""
    ca: str = ""
    read_only: bool = False
    production: bool = False
    bootstrap: str = ""  # Kafka's own address, for what REST cannot say
    others: tuple[str, ...] = ()  # further workers of the cluster, asked when the first does not answer
    token: str = ""  # sent as a bearer token
    certificate: str = ""  # a file: who we are (mutual TLS), with its key
    key: str = ""
    key_password: str = ""
    proxy: str = ""  # a URL; `none` goes past the environment's
    connect_timeout: float = 0.0  # seconds; 0 takes the usual
    timeout: float = 0.0  # seconds for an answer; 0 takes the usual
    colour: str = ""  # of the frame, #rrggbb
    headers: Mapping[str, str] = {}
    client: Mapping[str, str] = {}  # for the brokers
    record: str = ""  # a file to record this session to; never stored
    replay: str = ""  # a recording to show instead of a cluster; never stored

    @property
    def label(self) -> str:
        return self.name or self.url

    def __repr__(self) -> str:
        return f"Profile({without_user(self.label)!r})"  # nothing else: some are secrets


class Contexts(NamedTuple):
    """The file's content."""

    current: str = ""
    profiles: Mapping[str, Profile] = {}


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
        def refuse(why: str) -> HeadraceError:
            return HeadraceError(f"{self.path}: context {name!r} {why}")

        if not isinstance(table, dict) or not table.get("url"):
            raise refuse("has no url")
        known = {key.replace("-", "_"): value for key, value in table.items()}
        known = {_SPELLINGS.get(key, key): value for key, value in known.items()}
        known |= _urls(known["url"])
        for key, value in known.items():
            if key not in _KEYS:
                raise refuse(f"has the unknown key {key.replace('_', '-')!r}")
            if not _fits(value, _KEYS[key]):
                raise refuse(f": {key.replace('_', '-')} {_WORDS[_KEYS[key]]}".removeprefix(": "))
        if not _COLOUR.fullmatch(known.get("colour", "")):
            raise refuse(f"has the colour {known['colour']!r}: it must be like #d7875f")
        return Profile(name=name, **known)

    def get(self, name: str) -> Profile:
        profiles = self.load().profiles
        if name not in profiles:
            there = ", ".join(sorted(profiles)) or "none yet"
            raise UsageError(f"no context {name!r} in {self.path} (there: {there})")
        return profiles[name]

    def put(self, profile: Profile) -> None:
        contexts = self.load()
        self._write(contexts._replace(profiles={**contexts.profiles, profile.name: profile}))

    def use(self, name: str) -> None:
        self.get(name)
        self._write(self.load()._replace(current=name))

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
    name: type(Profile._field_defaults.get(name, ""))
    for name in Profile._fields
    if name not in ("name", "record", "replay")
}
SECRET_KEYS = frozenset({"password", "token", "key_password", "headers", "client", "proxy"})
_SPELLINGS = {"brokers": "bootstrap", "bootstrap_servers": "bootstrap", "color": "colour"}
_WORDS = {
    str: "must be text",
    bool: "must be true or false",
    float: "must be a number of seconds",
    dict: "must be a table of text",
    tuple: "must be a list of URLs",
}
_COLOUR = re.compile(r"(#[0-9a-fA-F]{6})?")


def _urls(given: Any) -> dict[str, Any]:
    """`url = "…"`, or `url = ["…", "…"]` with the one to ask first in front."""
    if isinstance(given, list) and given:
        return {"url": given[0], "others": tuple(given[1:])}
    return {"url": given}


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if kind is dict:
        return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    if kind is tuple:
        return all(isinstance(part, str) for part in value)
    return isinstance(value, kind)


def _toml(contexts: Contexts) -> str:
    lines = [f"current = {_string(contexts.current)}"] if contexts.current else []
    for name, profile in sorted(contexts.profiles.items()):
        where = f"contexts.{_string(name)}"
        lines += ["", f"[{where}]", *_plain_lines(profile)]
        for key in ("headers", "client"):
            if table := getattr(profile, key):
                lines += ["", f"[{where}.{key}]", *(f"{_string(k)} = {_string(v)}" for k, v in sorted(table.items()))]
    return "\n".join(lines).lstrip("\n") + "\n"


def _plain_lines(profile: Profile) -> Iterator[str]:
    for key, kind in _KEYS.items():
        value = getattr(profile, key)
        if not value or kind in (dict, tuple):
            continue
        if key == "url" and profile.others:
            yield f"url = [{', '.join(map(_string, (profile.url, *profile.others)))}]"
        else:
            yield f"{key.replace('_', '-')} = {_value(value)}"


def _value(value: str | bool | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _string(value) if isinstance(value, str) else f"{value:g}"


def _string(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but for DEL."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
