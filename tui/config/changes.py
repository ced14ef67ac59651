"""Changes of a config: the differences between two configs, and a config with changes applied."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tui.config.secrets import MASK, hides, is_masked


class ConfigChange(NamedTuple):
    """The change of one key; `before` is None for a new key, `after` is None for a removed one."""

    key: str
    before: str | None
    after: str | None

    @property
    def sign(self) -> str:
        return "+" if self.before is None else "−" if self.after is None else "~"


def stored(value: Any) -> str | None:
    """A JSON value as the text that Connect stores; None for null."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def changes(before: Mapping[str, str], after: Mapping[str, Any]) -> tuple[ConfigChange, ...]:
    """The changes, sorted by key. Connect adds a missing `name`, and a masked value in `after` stands for the old one,
    so neither is a change."""
    wanted = {key: text for key, value in after.items() if (text := stored(value)) is not None}
    changes = []
    for key in sorted(before.keys() | wanted.keys()):
        old, new = before.get(key), wanted.get(key)
        kept = new is not None and old is not None and is_masked(new)
        if old != new and not kept and not (key == "name" and new is None):
            changes.append(ConfigChange(key, old, new))
    return tuple(changes)


def merged(base: Mapping[str, str], changes: Sequence[ConfigChange]) -> dict[str, str]:
    """The config with the changes applied."""
    gone = {change.key for change in changes if change.after is None}
    new = {change.key: change.after for change in changes if change.after is not None}
    return {key: value for key, value in base.items() if key not in gone} | new


def as_patch(changes: Sequence[ConfigChange]) -> dict[str, str | None]:
    """The body of `PATCH /connectors/{name}/config`: changed keys only, null removes a key."""
    return {change.key: change.after for change in changes}


def diff_lines(changes: Sequence[ConfigChange], passwords: Collection[str] = ()) -> list[str]:
    """`- key=old` and `+ key=new`, secrets masked: for a terminal or a pull request."""
    lines = []
    for change in changes:
        if change.before is not None:
            lines.append(f"- {change.key}={_masked(change.key, change.before, passwords)}")
        if change.after is not None:
            lines.append(f"+ {change.key}={_masked(change.key, change.after, passwords)}")
    return lines


def _masked(key: str, value: str, passwords: Collection[str]) -> str:
    text = MASK if hides(key, value, passwords) else value
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
