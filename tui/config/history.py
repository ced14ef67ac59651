"""The history of a connector's config, and the configs that undo or restore its changes.

Headrace workers keep the history themselves; for other clusters this machine records the changes made from here,
without secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tui.client.client import Connect
from tui.config.changes import ConfigChange, changes
from tui.config.history_files import ConfigHistoryFiles
from tui.config.secrets import is_masked
from tui.errors import HeadraceError, NotFound, Refused
from tui.formatting import utc_time

Json = Any
ADVICE = "this worker keeps no history; this machine records only changes made from here"


class ConfigEntry(NamedTuple):
    """One change: the config before and after it, None where the connector did not exist, and its state before."""

    number: int
    time: int  # milliseconds since 1970
    action: str
    who: str
    why: str
    state: str
    before: Mapping[str, str] | None
    after: Mapping[str, str] | None

    @property
    def at(self) -> str:
        return utc_time(self.time)

    @property
    def changes(self) -> tuple[ConfigChange, ...]:
        return changes(self.before or {}, self.after or {})

    def __str__(self) -> str:
        return self.named(self.at)

    def named(self, at: str) -> str:
        """`change 3 of 2026-11-24 07:05:09Z by ada`, with the time as given."""
        return f"change {self.number} of {at}" + (f" by {self.who}" if self.who else "")


class ConfigHistory(NamedTuple):
    """Changes of one connector's config, newest first; `raw` as the worker (`by_worker`) or this machine keeps them."""

    entries: tuple[ConfigEntry, ...]
    raw: list[Json]
    by_worker: bool

    @property
    def configs(self) -> list[Mapping[str, str] | None]:
        """All configs of the history."""
        return [config for entry in self.entries for config in (entry.before, entry.after)]

    @property
    def advice(self) -> str:
        return "" if self.by_worker else ADVICE


class Restoration(NamedTuple):
    """A config to restore. `kept` are keys whose value in the history is hidden: their current value stays; `missing`
    are hidden keys without a current value."""

    config: dict[str, str]
    kept: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


async def history(connect: Connect, kept: ConfigHistoryFiles, name: str) -> ConfigHistory:
    """The worker's history or, if it keeps none, this machine's. Raises HeadraceError."""
    try:
        raw, by_worker = list((await connect.config_history(name))["history"]), True
    except Refused as error:
        if error.status not in (404, 405):
            raise
        raw, by_worker = kept.read(name), False
    return ConfigHistory(tuple(map(_entry, raw)), raw, by_worker)


async def deleted(connect: Connect, kept: ConfigHistoryFiles) -> list[Json]:
    """Deleted connectors that can be restored, the latest first: by the worker or, if it keeps none, this machine."""
    try:
        return list((await connect.deleted_connectors())["deleted"])
    except Refused as error:
        if error.status not in (404, 405):
            raise
    existing = set(await connect.names())
    return [entry for entry in kept.deleted() if entry["name"] not in existing]


def last_change(history: ConfigHistory, name: str) -> ConfigEntry:
    """The newest change between two configs. Raises HeadraceError if there is none."""
    for entry in history.entries:
        if entry.action == "update" and entry.changes:
            return entry
    raise HeadraceError(f"the config of {name} has not been changed yet", history.advice)


def numbered(history: ConfigHistory, name: str, number: int) -> ConfigEntry:
    """The change with a number. Raises NotFound, and HeadraceError for a creation, which has no config before."""
    for entry in history.entries:
        if entry.number == number and entry.before is None:
            raise HeadraceError(f"change {number} created {name}: there is no config before it")
        if entry.number == number:
            return entry
    raise NotFound(f"{name} has no change {number} in its history", 404, f"`get config history {name}` lists them")


def deletion(history: ConfigHistory, name: str) -> ConfigEntry:
    """The deletion of a connector, its newest change. Raises NotFound."""
    newest = history.entries[0] if history.entries else None
    if newest is None or newest.action != "delete":
        raise NotFound(f"the history has no deletion of {name}", 404, history.advice or "`get deleted` lists them")
    return newest


def as_before(entry: ConfigEntry, now: Mapping[str, str]) -> Restoration:
    """The whole config from before a change."""
    return _restored(entry.before or {}, now)


def undone(entry: ConfigEntry, now: Mapping[str, str]) -> Restoration:
    """The current config with the keys of one change as they were before it."""
    wanted = dict(now)
    for change in entry.changes:
        if change.before is None:
            wanted.pop(change.key, None)
        else:
            wanted[change.key] = change.before
    return _restored(wanted, now)


def _restored(wanted: Mapping[str, str], now: Mapping[str, str]) -> Restoration:
    hidden = [key for key, value in wanted.items() if is_masked(value)]
    config = {key: now.get(key, value) if key in hidden else value for key, value in wanted.items()}
    return Restoration(
        {key: value for key, value in config.items() if not is_masked(value)},
        tuple(key for key in hidden if key in now),
        tuple(key for key in hidden if key not in now),
    )


def summary(changes: Sequence[ConfigChange]) -> str:
    """The changed keys, the first few by name."""
    keys = [f"{change.sign}{change.key}" for change in changes]
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")


def _entry(d: Json) -> ConfigEntry:
    return ConfigEntry(**{key: d[key] for key in ConfigEntry._fields})
