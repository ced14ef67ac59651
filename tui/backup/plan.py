"""The plan of a restore: for each connector of the backup its difference from the cluster, and the action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from tui.backup.document import SavedConnector
from tui.config.changes import ConfigChange, diff_lines, merged
from tui.config.changes import changes as config_changes
from tui.config.secrets import is_masked
from tui.formatting import counted
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.changes import OffsetChange
from tui.offsets.changes import changes as offset_changes

MAX_LISTED = 20  # offsets of a connector that the plan lists


class RestoreAction(Enum):
    """What is done with a connector; the value is the word in the plan."""

    CREATE = "create"
    OVERWRITE = "overwrite"
    FINISH = "finish"  # an earlier restore has created the connector and was interrupted
    SKIP = "skip"
    KEEP = "unchanged"


SIGNS = {
    RestoreAction.CREATE: "+",
    RestoreAction.OVERWRITE: "~",
    RestoreAction.FINISH: "~",
    RestoreAction.SKIP: "!",
    RestoreAction.KEEP: " ",
}


class RestoreOptions(NamedTuple):
    """What is restored."""

    overwrite: bool = False
    offsets: bool = True
    stopped: bool = False  # leave all connectors STOPPED
    halted: str = "STOPPED"  # the state of those that were STOPPED; PAUSED on a cluster that cannot stop connectors


class RestoreStep(NamedTuple):
    """One connector: `saved` as it is to be, `now` as it is on the cluster, None if it does not exist. A new one has no
    `saved.offsets` if they are not restored."""

    saved: SavedConnector
    action: RestoreAction
    state: str  # that the connector gets
    now: SavedConnector | None = None
    config: tuple[ConfigChange, ...] = ()
    offsets: tuple[OffsetChange, ...] = ()
    written: Mapping[str, str] = {}  # the whole config that the connector gets
    passwords: frozenset[str] = frozenset()  # keys of type PASSWORD

    @property
    def name(self) -> str:
        return self.saved.name

    @property
    def before(self) -> str | None:
        """Its state on the cluster, None if it does not exist."""
        return None if self.now is None else self.now.state

    @property
    def pending(self) -> bool:
        """Whether the step changes anything."""
        return self.action not in (RestoreAction.SKIP, RestoreAction.KEEP)

    @property
    def summary(self) -> str:
        """The step on one line."""
        if self.action is RestoreAction.KEEP:
            return "unchanged"
        text = ", ".join(self._differences)
        if self.action is RestoreAction.SKIP:
            return f"exists and differs ({text}): skipped; --overwrite replaces it"
        if self.action is RestoreAction.FINISH:
            return f"exists STOPPED with this config, as an interrupted restore leaves it; finish: {text}"
        return f"{self.action.value}: {text}"

    @property
    def _differences(self) -> list[str]:
        lines = []
        if self.action is RestoreAction.CREATE:
            lines.append(self.saved.type)
        elif self.config:
            lines.append(f"config ({', '.join(change.key for change in self.config)})")
        if self.offsets:
            lines.append(counted(len(self.offsets), "offset"))
        if self.before is None:
            lines.append(self.state)
        elif self.before != self.state:
            lines.append(f"{self.before} → {self.state}")
        return lines

    def lines(self) -> list[str]:
        """The step with all changes, secrets masked."""
        lines = [f"{SIGNS[self.action]} {self.name}: {self.summary}"]
        if self.pending:
            if self.before is not None:
                lines += [f"    {line}" for line in diff_lines(self.config, self.passwords)]
            lines += [f"    {_shown(change)}" for change in self.offsets[:MAX_LISTED]]
            if more := len(self.offsets[MAX_LISTED:]):
                lines.append(f"    and {more:,} more")
        return lines

    def as_json(self) -> Any:
        """`{"name", "action", "state", "config": [keys], "offsets": [{"partition", "offset"}]}`."""
        return {
            "name": self.name,
            "action": self.action.name.lower(),
            "state": self.state,
            "config": [change.key for change in self.config],
            "offsets": [change.entry for change in self.offsets],
        }


def _shown(change: OffsetChange) -> str:
    before = "none" if change.before is None else partitions.shown_offset(change.before)
    return f"{partitions.shown(change.partition)}: {before} → {partitions.shown_offset(change.after)}"


def step(saved: SavedConnector, now: SavedConnector | None, options: RestoreOptions) -> RestoreStep:
    """The step for a connector, which is `now` on the cluster."""
    state = options.halted if options.stopped or saved.state == "STOPPED" else saved.state
    wanted = saved.offsets if options.offsets else None
    if now is None:
        new = tuple(offset_changes((), wanted or ()))
        saved = saved._replace(offsets=wanted)
        return RestoreStep(
            saved, RestoreAction.CREATE, state, None, config_changes({}, saved.config), new, saved.config
        )
    config = config_changes(now.config, saved.config)
    offsets = () if wanted is None else offset_differences(wanted, now.offsets or ())
    step = RestoreStep(saved, RestoreAction.KEEP, state, now, config, offsets, merged(now.config, config))
    if not config and not offsets and now.state == state:
        return step
    if options.overwrite:
        return step._replace(action=RestoreAction.OVERWRITE)
    interrupted = not config and now.state == "STOPPED" and (not offsets or not now.offsets)
    return step._replace(action=RestoreAction.FINISH if interrupted else RestoreAction.SKIP)


def offset_differences(saved: Sequence[Offset], now: Sequence[Offset]) -> tuple[OffsetChange, ...]:
    """Changes after which the connector has the offsets of the backup and no others."""
    kept = {partitions.key(entry.partition) for entry in saved}
    others = [Offset(entry.partition, None) for entry in now if partitions.key(entry.partition) not in kept]
    return tuple(offset_changes(now, [*saved, *others]))


def masks(config: Mapping[str, str]) -> list[str]:
    """Keys whose values are masks: a proxy or worker has hidden them from the backup."""
    return sorted(key for key, value in config.items() if is_masked(value))


def overview(steps: list[RestoreStep]) -> str:
    """The number of connectors by action."""
    counts = {action: sum(step.action is action for step in steps) for action in RestoreAction}
    words = [f"{counts[action]} to {action.value}" for action in (RestoreAction.CREATE, RestoreAction.OVERWRITE)]
    if counts[RestoreAction.FINISH]:
        words.append(f"{counts[RestoreAction.FINISH]} to finish")
    return f"plan: {', '.join(words)}, {counts[RestoreAction.SKIP]} skipped, {counts[RestoreAction.KEEP]} unchanged"
