"""Sending changes of a config: only changed keys go out, and only if nobody else was there meanwhile.

read again ─► the same? ─► PATCH of the changed keys ─► read back
                 │            └─ the server has no PATCH ─► PUT of what was just read, with the changes
                 └─ no ─► ChangedMeanwhile, with what is there now
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tui.client.client import Connect
from tui.config.changes import ConfigChange, as_patch, changes, merged
from tui.config.secrets import is_masked
from tui.errors import CONFLICT, HeadraceError, Refused, TimedOut

NO_PATCH = (405, 501)  # Connect before 4.0 (KIP-477)


class ConfigEdit(NamedTuple):
    """Changes of one connector's config, made by somebody who had `base` before their eyes."""

    name: str
    base: Mapping[str, str]
    changes: tuple[ConfigChange, ...]

    @property
    def keys(self) -> str:
        return ", ".join(change.key for change in self.changes)


class ConfigApplied(NamedTuple):
    """The server took it. `differing` are changes that were not found when the config was read back."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    patched: bool  # False: the whole config was sent
    differing: tuple[ConfigChange, ...] = ()
    trouble: str = ""  # reading back failed; the change itself did not


class ConfigNotApplied(HeadraceError):
    """Nothing was changed, as far as is known."""


class ChangedMeanwhile(ConfigNotApplied):
    """`now` is what is there; `theirs` what somebody else did to what was read before."""

    exit_code = CONFLICT

    def __init__(self, theirs: Sequence[ConfigChange], now: Mapping[str, str]) -> None:
        keys = ", ".join(change.key for change in theirs[:5]) + (f" and {len(theirs) - 5} more" if theirs[5:] else "")
        super().__init__(f"the config was changed meanwhile: {keys}", "look at the difference, then apply again")
        self.theirs, self.now = tuple(theirs), dict(now)


@dataclass(slots=True)
class _Silent:
    said: list[str] = field(default_factory=list)

    def __call__(self, step: str) -> None:
        self.said.append(step)


async def apply(edit: ConfigEdit, connect: Connect, report: Callable[[str], None] | None = None) -> ConfigApplied:
    """Raises ChangedMeanwhile, NotApplied, or the server's own refusal."""
    report = report or _Silent()
    report("reading the config again")
    now = await connect.config(edit.name)
    if theirs := changes(edit.base, now):
        raise ChangedMeanwhile(theirs, now)
    try:
        patched = await _send(edit, now, connect, report)
    except TimedOut as error:
        raise ConfigNotApplied(
            error.message, "whether it took effect is not known: look at the config again"
        ) from error
    return await _afterwards(edit, now, connect, patched, report)


async def _send(edit: ConfigEdit, now: Mapping[str, str], connect: Connect, report: Callable[[str], None]) -> bool:
    """Whether a PATCH did it."""
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
            f"this worker takes whole configs only, and does not return the value of {', '.join(masked)}",
            "give the value itself, or a ${provider:…} reference, in the text",
        )
    report("this worker knows no PATCH: sending the whole config that was just read, with the changes")
    await connect.configure(edit.name, whole)
    return False


async def _afterwards(
    edit: ConfigEdit, before: Mapping[str, str], connect: Connect, patched: bool, report: Callable[[str], None]
) -> ConfigApplied:
    """The change is made: whatever fails from here on must not look as if it were not."""
    report("reading the config back")
    try:
        after = await connect.config(edit.name)
    except HeadraceError as error:
        return ConfigApplied(before, merged(before, edit.changes), patched, (), error.message)
    differing = tuple(change for change in edit.changes if not _is_there(change, after))
    return ConfigApplied(before, after, patched, differing)


def _is_there(change: ConfigChange, after: Mapping[str, str]) -> bool:
    value = after.get(change.key)
    return value == change.after or (value is not None and is_masked(value))
