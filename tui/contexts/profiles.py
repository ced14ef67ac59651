"""Profiles of clusters, and their form in the contexts file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tui.contexts.urls import address, check_url
from tui.errors import UsageError, naming
from tui.scrubbing import without_user

Table = Mapping[str, Any]  # a context's table in the file


class Profile(NamedTuple):
    """The connection and the restrictions of one cluster. A profile without a name was given by its URL.

    Secrets (password, token, key_password, headers, client, registry) may be references, which are resolved for a
    connection: see `tui.contexts.secrets`.
    """

    url: str
    name: str = ""
    username: str = ""
    password: str = ""
    ca: str = ""
    read_only: bool = False
    production: bool = False
    bootstrap: str = ""  # bootstrap servers of Kafka, for requests that REST does not offer
    others: tuple[str, ...] = ()  # further workers of the cluster, used if the first does not respond
    token: str = ""  # sent as a bearer token
    certificate: str = ""  # a file: the client certificate for mutual TLS
    key: str = ""
    key_password: str = ""
    proxy: str = ""  # a URL; `none` ignores the environment's proxy
    connect_timeout: float = 0.0  # seconds; 0 for the default
    timeout: float = 0.0  # seconds for a response; 0 for the default
    colour: str = ""  # of the frame, #rrggbb
    headers: Mapping[str, str] = {}
    client: Mapping[str, str] = {}  # librdkafka settings for the brokers
    registry: Mapping[str, str] = {}  # the schema registry: url, username, password, token, ca
    option_read_only: bool = False  # set by --read-only; never stored
    record: str = ""  # the file to record this session to; never stored
    replay: str = ""  # a recording to show instead of a cluster; never stored

    @property
    def label(self) -> str:
        """The name by which the cluster is shown and stored."""
        return self.name or without_user(self.url)

    def is_same_cluster(self, other: Profile) -> bool:
        """Whether both name a worker in common."""
        ours, theirs = ({address(url) for url in (profile.url, *profile.others)} for profile in (self, other))
        return not ours.isdisjoint(theirs)

    def as_read_only(self) -> Profile:
        """The profile with --read-only. Refusals name the option, or the context if it is read-only itself."""
        return self._replace(read_only=True, option_read_only=not self.read_only)

    def __repr__(self) -> str:
        return f"Profile({self.label!r})"  # other fields may be secrets


class InvalidContext(NamedTuple):
    """An invalid context of the file: the reason, and its content."""

    reason: str
    content: Any

    @property
    def url(self) -> str:
        """Its URL, or empty."""
        url = self.content.get("url") if isinstance(self.content, dict) else None
        return str(next(iter(url), "") if isinstance(url, list) else url or "")


class Contexts(NamedTuple):
    """The file's content. An invalid context is an error only when it is used."""

    current: str = ""
    profiles: Mapping[str, Profile] = {}
    invalid: Mapping[str, InvalidContext] = {}

    @property
    def names(self) -> list[str]:
        return sorted({*self.profiles, *self.invalid})

    def table(self, name: str) -> Table:
        """A context's table in the file; empty for a new one."""
        if name in self.invalid:
            content = self.invalid[name].content
            return (
                {_file_key(_field_name(key)): value for key, value in content.items()}
                if isinstance(content, dict)
                else {}
            )
        return table_of(self.profiles[name]) if name in self.profiles else {}


_KEYS: dict[str, type] = {
    name: type(Profile._field_defaults.get(name, ""))
    for name in Profile._fields
    if name not in ("name", "option_read_only", "record", "replay")
}
SECRET_KEYS = frozenset({"password", "token", "key_password", "headers", "client", "proxy", "registry"})
_SPELLINGS = {
    "brokers": "bootstrap",
    "bootstrap_servers": "bootstrap",
    "color": "colour",
    "schema_registry": "registry",
}
_FILE_KEYS = {"bootstrap": "bootstrap-servers", "registry": "schema-registry"}  # names that differ from the field's
_MOST_SECONDS = 1_000_000  # sockets wait at most 24 days
_EXPECTED = {
    str: "must be a string",
    bool: "must be true or false",
    float: "must be a number of seconds",
    dict: "must be a table of strings",
    tuple: "must be a list of URLs",
}
_COLOUR = re.compile(r"(#[0-9a-fA-F]{6})?")


def profile_of(name: str, table: Any) -> Profile:
    """Checks and converts one context of the file. Raises UsageError."""

    def refuse(reason: str) -> UsageError:
        return UsageError(f"context {name!r} {reason}")

    if not name:
        raise UsageError("the name of a context must not be empty")
    if not isinstance(table, dict) or not table.get("url"):
        raise refuse("has no url: it needs one, like http://host:8083")
    known = {_field_name(key): value for key, value in table.items()}
    known |= _urls(known["url"])
    for key, value in known.items():
        if key not in _KEYS:
            raise refuse(f"has the unknown key {key.replace('_', '-')!r}")
        if not _fits(value, _KEYS[key]):
            raise refuse(f": {_file_key(key)} {_EXPECTED[_KEYS[key]]}".removeprefix(": "))
    if not _COLOUR.fullmatch(known.get("colour", "")):
        raise refuse(f"has the colour {known['colour']!r}: use the form #d7875f")
    with naming(f"context {name!r}"):
        for url in (known["url"], *known.get("others", ())):
            check_url(url)
    return Profile(name=name, **known)


def table_of(profile: Profile) -> Table:
    """The profile as a table of the file, without default values."""
    table: dict[str, Any] = {_file_key(key): value for key in _KEYS if (value := getattr(profile, key))}
    if "others" in table:
        table["url"] = [profile.url, *table.pop("others")]
    return table


def _field_name(key: str) -> str:
    plain = key.replace("-", "_")
    return _SPELLINGS.get(plain, plain)


def _file_key(key: str) -> str:
    return _FILE_KEYS.get(key, key.replace("_", "-"))


def _urls(given: Any) -> dict[str, Any]:
    """`url = "…"`, or `url = ["…", "…"]` the preferred worker first."""
    if isinstance(given, list) and given:
        return {"url": given[0], "others": tuple(given[1:])}
    return {"url": given}


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_SECONDS
    if kind is dict:
        return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    if kind is tuple:
        return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
    return isinstance(value, kind)
