"""A change of offsets that is decided, and what may become of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tui.errors import HeadraceError
from tui.model import Offset, Verdict
from tui.offsets import partitions
from tui.offsets.changes import OffsetChange, OffsetConflict


class OffsetAction(Enum):
    """What is done; the value is the word of the history."""

    ALTER = "alter"
    RESET = "reset"
    DELETE = "delete"  # the connector, after its offsets


class OffsetPlan(NamedTuple):
    """What is to be done. `state` is the connector's, and it goes back to it afterwards; `ran`: it was not STOPPED
    all the time since `base` was read, and may have moved on by itself; `base` None: whatever is there is changed."""

    name: str
    base: tuple[Offset, ...] | None
    changes: tuple[OffsetChange, ...]
    state: str
    ran: bool = False
    action: OffsetAction = OffsetAction.ALTER
    why: str = ""

    @property
    def must_stop(self) -> bool:
        return self.state != "STOPPED"

    @property
    def way_back(self) -> str:
        """The verb that restores the state; empty when it was STOPPED all along."""
        return {"STOPPED": "", "PAUSED": "pause"}.get(self.state, "resume")

    @property
    def afterwards(self) -> str:
        """The state it is brought back to, in words."""
        return {"": "left STOPPED", "pause": "paused again"}.get(self.way_back, "set going again")

    @property
    def script_lines(self) -> list[str]:
        """The same as a script."""
        from shlex import quote

        name = quote(self.name)
        if self.action is OffsetAction.DELETE:
            return [f"delete connector {name} --with-offsets"]
        entries = quote(partitions.compact([change.entry for change in self.changes]))
        lines = [f"patch offsets {name} {entries}" if self.action is OffsetAction.ALTER else f"delete offsets {name}"]
        if self.why:
            lines[0] += f" --reason {quote(self.why)}"
        if self.must_stop:
            lines = [f"stop connector {name}", f"wait connector {name} STOPPED", *lines]
            lines.append(f"{self.way_back} connector {name}")
        return lines


class OffsetsApplied(NamedTuple):
    """The server took it. `after` was read back; `differing` are the changes that are not found there."""

    verdict: Verdict
    before: tuple[Offset, ...]
    after: tuple[Offset, ...]
    differing: tuple[OffsetChange, ...]
    left_stopped: bool  # we stopped it and did not set it going again: see the verdict
    trouble: str = ""  # what went wrong after the change itself was made
    moved: tuple[
        OffsetChange, ...
    ] = ()  # changes as they were made, where it stood elsewhere than when they were decided


class OffsetsNotApplied(HeadraceError):
    """The offsets are as they were, and so is the connector, unless `stopped` (it still is, by us) or `unfinished`
    (the cluster stayed away: what there is to do is noted, and can be finished later) says otherwise.
    `now`: what was read last, where it is not what the change was based on."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        code: int = HeadraceError.exit_code,
        stopped: bool = False,
        unfinished: bool = False,
        conflicts: Sequence[OffsetConflict] = (),
        now: Sequence[Offset] | None = None,
    ) -> None:
        super().__init__(message, advice)
        self.exit_code = code
        self.stopped, self.unfinished, self.conflicts = stopped, unfinished, tuple(conflicts)
        self.now = None if now is None else tuple(now)
