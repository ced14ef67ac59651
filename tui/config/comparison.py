"""Differences between the connectors of two clusters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tui.config.changes import ConfigChange, changes
from tui.config.secrets import masked

Json = Any
HERE, THERE, DIFFERS, SAME = "only here", "only there", "differs", "same"


class ConnectorDifference(NamedTuple):
    """The difference of one connector; in `changes`, `before` is the value here, `after` the value there."""

    name: str
    kind: str
    changes: tuple[ConfigChange, ...] = ()

    @property
    def differs(self) -> bool:
        return self.kind != SAME

    def as_json(self, passwords: Collection[str]) -> Json:
        """`{"connector", "difference", "keys": [{"key", "here", "there"}]}`, with secrets masked; `passwords` are the
        keys of type PASSWORD."""
        keys = [
            {
                "key": change.key,
                "here": masked(change.key, change.before, passwords),
                "there": masked(change.key, change.after, passwords),
            }
            for change in self.changes
        ]
        return {"connector": self.name, "difference": self.kind, "keys": keys}


def compared(
    here: Mapping[str, Mapping[str, str]], theirs: Mapping[str, Mapping[str, str]], names: Mapping[str, str]
) -> list[ConnectorDifference]:
    """The differences, by name; `names` maps names here to names there. Connectors only there come last."""
    differences = []
    for name, config in sorted(here.items()):
        other = theirs.get(names.get(name, name))
        changes = () if other is None else _changes(config, other)
        differences.append(ConnectorDifference(name, HERE if other is None else DIFFERS if changes else SAME, changes))
    known = {names.get(name, name) for name in here}
    return [*differences, *(ConnectorDifference(name, THERE) for name in sorted(theirs.keys() - known))]


def _changes(here: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[ConfigChange, ...]:
    """Changed keys apart from the name, which only differs if the connectors were paired by a mapping."""
    return tuple(change for change in changes(here, theirs) if change.key != "name")
