"""A cluster as a user has it, and what may stand of it in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tui.contexts.urls import check_url
from tui.errors import UsageError, about
from tui.scrubbing import without_user

Table = Mapping[str, Any]  # of the file


class Profile(NamedTuple):
    """One cluster and how it is treated. A profile without a name was given by its URL. Secrets (password, token,
    key_password, headers, client) may be references, which are resolved when a connection is made: see
    `tui.contexts.secrets`."""

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
        """What it is called wherever it is shown or written down."""
        return self.name or without_user(self.url)

    def only_reading(self) -> Profile:
        """As --read-only wants it; a context that is read-only itself says so itself."""
        return self._replace(read_only=True, option_read_only=not self.read_only)

    def __repr__(self) -> str:
        return f"Profile({self.label!r})"  # nothing else: some are secrets


class InvalidContext(NamedTuple):
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
    wrong: Mapping[str, InvalidContext] = {}

    @property
    def names(self) -> list[str]:
        return sorted({*self.profiles, *self.wrong})

    def table(self, name: str) -> Table:
        """What the file has of it; empty when it is new."""
        if name in self.wrong:
            content = self.wrong[name].content
            return {_written(_known(key)): value for key, value in content.items()} if isinstance(content, dict) else {}
        return table_of(self.profiles[name]) if name in self.profiles else {}


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
