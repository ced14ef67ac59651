"""The plan of a change of offsets, and its possible outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tui.errors import HeadraceError
from tui.model import Offset, Verdict
from tui.offsets import partitions
from tui.offsets.changes import OffsetChange, OffsetConflict


class PlanAction(Enum):
    """The kind of change; the value is its name in the history."""

    ALTER = "alter"
    RESET = "reset"
    DELETE = "delete"  # the connector, after its offsets


class OffsetPlan(NamedTuple):
    """Changes of one connector's offsets.

    `base` are the offsets that the changes were computed from; None skips the check for conflicts. `state` is the
    connector's state, restored afterwards. `ran` if the connector was not STOPPED all the time since `base` was read
    and may have advanced by itself."""

    name: str
    base: tuple[Offset, ...] | None
    changes: tuple[OffsetChange, ...]
    state: str
    ran: bool = False
    action: PlanAction = PlanAction.ALTER
    why: str = ""

    @property
    def must_stop(self) -> bool:
        return self.state != "STOPPED"

    @property
    def may_have_advanced(self) -> bool:
        """Whether the connector may have committed other offsets than `base` by itself."""
        return self.ran or self.must_stop

    @property
    def restoring_verb(self) -> str:
        """The verb that restores the state; empty for a connector that was STOPPED before."""
        return {"STOPPED": "", "PAUSED": "pause"}.get(self.state, "resume")

    @property
    def restored_state(self) -> str:
        """How the state is restored, in words."""
        return {"": "kept STOPPED", "pause": "paused again"}.get(self.restoring_verb, "resumed")

    @property
    def script_lines(self) -> list[str]:
        """The plan as lines of a script."""
        from shlex import quote

        name = quote(self.name)
        if self.action is PlanAction.DELETE:
            return [f"delete connector {name} --with-offsets"]
        entries = quote(partitions.compact([change.entry for change in self.changes]))
        lines = [f"patch offsets {name} {entries}" if self.action is PlanAction.ALTER else f"delete offsets {name}"]
        if self.why:
            lines[0] += f" --reason {quote(self.why)}"
        if self.must_stop:
            lines = [f"stop connector {name}", f"wait connector {name} STOPPED", *lines]
            lines.append(f"{self.restoring_verb} connector {name}")
        return lines


class OffsetsApplied(NamedTuple):
    """The server applied the change. `after` are the offsets read back, `differing` the changes they do not show.

    `plan` is the plan that was carried out: with changes computed again, and STOPPED if someone else stopped the
    connector in the meantime."""

    plan: OffsetPlan
    verdict: Verdict
    after: tuple[Offset, ...]
    differing: tuple[OffsetChange, ...]
    left_stopped: bool  # by the change, and not resumed: see the verdict
    trouble: str = ""  # a failure after the change itself was applied
    moved: tuple[OffsetChange, ...] = ()  # changes applied from other offsets than planned

    def problems(self) -> list[str]:
        """What failed after the server had confirmed the change."""
        if not self.differing:
            return [self.trouble] if self.trouble else []
        count = f"{len(self.differing)} of {len(self.plan.changes)}"
        return [*filter(None, [self.trouble]), f"after reading back, {count} offsets differ from the request"]


class OffsetsNotApplied(HeadraceError):
    """The change failed, and offsets and state are those from before, except as follows.

    `stopped`: the connector is still stopped by the operation. `unfinished`: the cluster stayed unreachable, and the
    interrupted step is stored for `finish`. `now`: the current offsets, if they are not the plan's base."""

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
