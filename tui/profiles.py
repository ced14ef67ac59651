"""The contexts a user has: clusters by name, in `contexts.toml` of the XDG config folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tui.errors import HeadraceError, UsageError, about
from tui.scrubbing import without_user
from tui.urls import check_url

Table = Mapping[str, Any]  # of the file


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
    option_read_only: bool = False  # by --read-only, whatever the context is; never stored
    record: str = ""  # a file to record this session to; never stored
    replay: str = ""  # a recording to show instead of a cluster; never stored

    @property
    def label(self) -> str:
        return self.name or self.url

    def only_reading(self) -> Profile:
        """As --read-only wants it; a context that is read-only itself says so itself."""
        return self._replace(read_only=True, option_read_only=not self.read_only)

    def __repr__(self) -> str:
        return f"Profile({without_user(self.label)!r})"  # nothing else: some are secrets


class Wrong(NamedTuple):
    """A context of the file that cannot be used: why not, and what stands there."""

    why: str
    content: Any

    @property
    def url(self) -> str:
        """As far as there is one."""
        found = self.content.get("url") if isinstance(self.content, dict) else None
        return str(next(iter(found), "") if isinstance(found, list) else found or "")


class Contexts(NamedTuple):
    """The file's content. A context that is wrong takes no other down: it is refused when it is asked for."""

    current: str = ""
    profiles: Mapping[str, Profile] = {}
    wrong: Mapping[str, Wrong] = {}

    @property
    def names(self) -> list[str]:
        return sorted({*self.profiles, *self.wrong})

    def table(self, name: str) -> Table:
        """What the file has of it; empty when it is new."""
        if name in self.wrong:
            content = self.wrong[name].content
            return {_written(_known(key)): value for key, value in content.items()} if isinstance(content, dict) else {}
        return table_of(self.profiles[name]) if name in self.profiles else {}


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
        entries = content.get("contexts", {})
        if not isinstance(entries, dict):
            raise HeadraceError(f"{self.path}: contexts must be a table")
        named, wrong = dict[str, Profile](), dict[str, Wrong]()
        for name, table in entries.items():
            try:
                named[name] = profile_of(name, table)
            except UsageError as error:
                wrong[name] = Wrong(str(error), table)
        return Contexts(str(content.get("current", "")), named, wrong)

    def get(self, name: str) -> Profile:
        contexts = self.load()
        self.must_know(contexts, name)
        if name in contexts.wrong:
            raise HeadraceError(f"{self.path}: {contexts.wrong[name].why}")
        return contexts.profiles[name]

    def must_know(self, contexts: Contexts, name: str) -> None:
        """Raises UsageError for a name that the file does not have."""
        if name not in contexts.names:
            there = ", ".join(contexts.names) or "none yet"
            raise UsageError(f"no context {name!r} in {self.path} (there: {there})")

    def put(self, profile: Profile) -> None:
        """Raises UsageError, and writes nothing, for what could not be read again."""
        profile_of(profile.name, table_of(profile))
        contexts = self.load()
        wrong = {name: one for name, one in contexts.wrong.items() if name != profile.name}
        self._write(Contexts(contexts.current, {**contexts.profiles, profile.name: profile}, wrong))

    def use(self, name: str) -> None:
        self.get(name)
        self._write(self.load()._replace(current=name))

    def remove(self, name: str) -> None:
        contexts = self.load()
        self.must_know(contexts, name)
        rest = {key: profile for key, profile in contexts.profiles.items() if key != name}
        wrong = {key: one for key, one in contexts.wrong.items() if key != name}
        self._write(Contexts("" if contexts.current == name else contexts.current, rest, wrong))

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
    if name not in ("name", "option_read_only", "record", "replay")
}
SECRET_KEYS = frozenset({"password", "token", "key_password", "headers", "client", "proxy"})
_SPELLINGS = {"brokers": "bootstrap", "bootstrap_servers": "bootstrap", "color": "colour"}
_WRITTEN = {"bootstrap": "bootstrap-servers"}  # otherwise than in a Profile
_WORDS = {
    str: "must be text",
    bool: "must be true or false",
    float: "must be a number of seconds",
    dict: "must be a table of text",
    tuple: "must be a list of URLs",
}
_COLOUR = re.compile(r"(#[0-9a-fA-F]{6})?")


def profile_of(name: str, table: Any) -> Profile:
    """What the file says of one context, and what is checked before anything is written. Raises UsageError."""

    def refuse(why: str) -> UsageError:
        return UsageError(f"context {name!r} {why}")

    if not name:
        raise UsageError("a context needs a name")
    if not isinstance(table, dict) or not table.get("url"):
        raise refuse("has no url")
    known = {_known(key): value for key, value in table.items()}
    known |= _urls(known["url"])
    for key, value in known.items():
        if key not in _KEYS:
            raise refuse(f"has the unknown key {key.replace('_', '-')!r}")
        if not _fits(value, _KEYS[key]):
            raise refuse(f": {_written(key)} {_WORDS[_KEYS[key]]}".removeprefix(": "))
    if not _COLOUR.fullmatch(known.get("colour", "")):
        raise refuse(f"has the colour {known['colour']!r}: it must be like #d7875f")
    with about(f"context {name!r}"):
        for url in (known["url"], *known.get("others", ())):
            check_url(url)
    return Profile(name=name, **known)


def table_of(profile: Profile) -> Table:
    """As the file has it: what is not the default."""
    table: dict[str, Any] = {_written(key): value for key in _KEYS if (value := getattr(profile, key))}
    if "others" in table:
        table["url"] = [profile.url, *table.pop("others")]
    return table


def _known(key: str) -> str:
    plain = key.replace("-", "_")
    return _SPELLINGS.get(plain, plain)


def _written(key: str) -> str:
    return _WRITTEN.get(key, key.replace("_", "-"))


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
        return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    return isinstance(value, kind)


def _toml(contexts: Contexts) -> str:
    lines = [f"current = {_value(contexts.current)}"] if contexts.current else []
    tables = {name: table_of(one) for name, one in contexts.profiles.items()}
    tables |= {name: one.content for name, one in contexts.wrong.items()}  # as it stands, to be mended
    odd = [name for name, content in tables.items() if not isinstance(content, dict)]
    if odd:
        lines += ["", "[contexts]", *(f"{_value(name)} = {_value(tables.pop(name))}" for name in odd)]
    for name, table in sorted(tables.items()):
        where = f"contexts.{_value(name)}"
        lines += ["", f"[{where}]", *(_line(k, v) for k, v in table.items() if not isinstance(v, dict))]
        for key, inner in table.items():
            if isinstance(inner, dict):
                lines += [
                    "",
                    f"[{where}.{_key(key)}]",
                    *(f"{_value(k)} = {_value(v)}" for k, v in sorted(inner.items())),
                ]
    return "\n".join(lines).lstrip("\n") + "\n"


def _line(key: str, value: Any) -> str:
    return f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _value(value: Any) -> str:
    """Of anything that TOML knows. A basic string has JSON's escapes, but for DEL."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        import json

        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_value(key)} = {_value(inner)}' for key, inner in value.items())} }}"
    return str(value)
