"""What is different between two configs, and what comes of putting changes on one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from tui.config.secrets import MASK, hides, is_masked


class ConfigChange(NamedTuple):
    """One key. `before` None: it is new; `after` None: it goes."""

    key: str
    before: str | None
    after: str | None

    @property
    def sign(self) -> str:
        return "+" if self.before is None else "−" if self.after is None else "~"


def stored(value: Any) -> str | None:
    """A JSON value as Connect stores it: text; null is no value."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def changes(before: Mapping[str, str], after: Mapping[str, Any]) -> tuple[ConfigChange, ...]:
    """By key. A masked value in `after` means that the key stays as it is; so does a name that is left out, since
    Connect adds it by itself."""
    wanted = {key: text for key, value in after.items() if (text := stored(value)) is not None}
    found = []
    for key in sorted(before.keys() | wanted.keys()):
        old, new = before.get(key), wanted.get(key)
        kept = new is not None and old is not None and is_masked(new)
        if old != new and not kept and not (key == "name" and new is None):
            found.append(ConfigChange(key, old, new))
    return tuple(found)


def merged(base: Mapping[str, str], made: Sequence[ConfigChange]) -> dict[str, str]:
    """The whole config after the changes."""
    gone = {change.key for change in made if change.after is None}
    new = {change.key: change.after for change in made if change.after is not None}
    return {key: value for key, value in base.items() if key not in gone} | new


def as_patch(made: Sequence[ConfigChange]) -> dict[str, str | None]:
    """The body of `PATCH /connectors/{name}/config`: changed keys only, null takes one away."""
    return {change.key: change.after for change in made}


def diff_lines(made: Sequence[ConfigChange], passwords: Collection[str] = ()) -> list[str]:
    """`- key=old` and `+ key=new`, secrets masked: for a terminal or a pull request."""
    lines = []
    for change in made:
        if change.before is not None:
            lines.append(f"- {change.key}={_masked(change.key, change.before, passwords)}")
        if change.after is not None:
            lines.append(f"+ {change.key}={_masked(change.key, change.after, passwords)}")
    return lines


def _masked(key: str, value: str, passwords: Collection[str]) -> str:
    text = MASK if hides(key, value, passwords) else value
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
