"""Applies changes of a config: sends only the changed keys, and nothing if someone else has changed the config.

read again ─► unchanged? ─► PATCH of the changed keys ─► read back
                 │                └─ the server has no PATCH ─► PUT of the config just read, with the changes
                 └─ no ─► ChangedMeanwhile, with the current config
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tui.client.client import Connect
from tui.config.changes import ConfigChange, as_patch, changes, merged
from tui.config.secrets import is_masked
from tui.errors import CONFLICT, HeadraceError, Refused

NO_PATCH = (405, 501)  # Connect before 4.0 (KIP-477)


class ConfigEdit(NamedTuple):
    """Changes of one connector's config, computed from the config `base`."""

    name: str
    base: Mapping[str, str]
    changes: tuple[ConfigChange, ...]

    @property
    def keys(self) -> str:
        return ", ".join(change.key for change in self.changes)


class ConfigApplied(NamedTuple):
    """The server applied the changes. `differing` are those that the config read back does not show."""

    after: Mapping[str, str]
    patched: bool  # False if the whole config was sent
    differing: tuple[ConfigChange, ...] = ()
    trouble: str = ""  # why reading back failed; the change itself succeeded


class ConfigNotApplied(HeadraceError):
    """The changes were not applied, as far as is known."""


class ChangedMeanwhile(ConfigNotApplied):
    """Someone else changed the config: `now` is the current one, `theirs` the changes since it was read."""

    exit_code = CONFLICT

    def __init__(self, theirs: Sequence[ConfigChange], now: Mapping[str, str]) -> None:
        keys = ", ".join(change.key for change in theirs[:5]) + (f" and {len(theirs) - 5} more" if theirs[5:] else "")
        super().__init__(f"someone else changed the config: {keys}", "check the difference, then apply again")
        self.theirs, self.now = tuple(theirs), dict(now)


@dataclass(slots=True)
class _NoReport:
    steps: list[str] = field(default_factory=list)

    def __call__(self, step: str) -> None:
        self.steps.append(step)


async def apply(edit: ConfigEdit, connect: Connect, report: Callable[[str], None] | None = None) -> ConfigApplied:
    """Raises ChangedMeanwhile, ConfigNotApplied, or the server's own refusal."""
    report = report or _NoReport()
    report("reading the config again")
    now = await connect.config(edit.name)
    if theirs := changes(edit.base, now):
        raise ChangedMeanwhile(theirs, now)
    patched = await _send(edit, now, connect, report)
    return await _read_back(edit, now, connect, patched, report)


async def _send(edit: ConfigEdit, now: Mapping[str, str], connect: Connect, report: Callable[[str], None]) -> bool:
    """Sends the changes; returns whether a PATCH sufficed."""
    report(f"changing {edit.keys}")
    try:
        await connect.patch_config(edit.name, as_patch(edit.changes))
        return True
    except Refused as error:
        if error.status not in NO_PATCH:
            raise
    whole = merged(now, edit.changes)
    if masked := [key for key, value in whole.items() if is_masked(value)]:
        raise ConfigNotApplied(
            f"this worker accepts whole configs only, and masks the value of {', '.join(masked)}",
            "enter the value, or a ${provider:…} reference",
        )
    report("this worker does not support PATCH: sending the whole config with the changes")
    await connect.configure(edit.name, whole)
    return False


async def _read_back(
    edit: ConfigEdit, before: Mapping[str, str], connect: Connect, patched: bool, report: Callable[[str], None]
) -> ConfigApplied:
    """Reads the config back. The result reports a failure here, since the change stays."""
    report("reading the config back")
    try:
        after = await connect.config(edit.name)
    except HeadraceError as error:
        return ConfigApplied(merged(before, edit.changes), patched, (), error.message)
    differing = tuple(change for change in edit.changes if not _is_applied(change, after))
    return ConfigApplied(after, patched, differing)


def _is_applied(change: ConfigChange, after: Mapping[str, str]) -> bool:
    value = after.get(change.key)
    return value == change.after or (value is not None and is_masked(value))
