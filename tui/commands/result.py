"""What a command brings back: the same value is drawn by the screen and printed by the script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tui.errors import DONE, FAILED, PENDING
from tui.model import Verdict

Json = Any
Cell = str | int | float | bool | None


class Table(NamedTuple):
    """Rows with named columns; those in `wide` are shown by `-o wide` and on broad screens only."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    wide: frozenset[str] = frozenset()


class TargetOutcome(NamedTuple):
    """What became of one target of a changing command."""

    name: str
    message: str  # `stopped`, or the server's own words when `failed` or with a verdict
    code: int = DONE
    verdict: Verdict | None = None
    raw: Json = None  # the server's answer, where it said something

    @property
    def failed(self) -> bool:
        return self.code != DONE

    def as_json(self) -> Json:
        return {"name": self.name, "error" if self.failed else "result": self.message}


class Result(NamedTuple):
    """`raw` for machines, `table` or `text` for people, `names` for `-o name`; `outcomes` of changes."""

    raw: Json = None
    table: Table | None = None
    text: str = ""
    names: tuple[str, ...] = ()
    outcomes: tuple[TargetOutcome, ...] = ()
    prose: bool = False  # `text` may be folded where it is too wide
    pending: bool = False  # a dry run has found something to do

    @property
    def exit_code(self) -> int:
        return common_code([outcome.code for outcome in self.outcomes]) or (PENDING if self.pending else DONE)

    @property
    def is_confirmation(self) -> bool:
        """A change's "done", not data: scripts hear it on standard error unless they ask with -o."""
        return bool(self.outcomes)


def confirmation(outcomes: Sequence[TargetOutcome]) -> Result:
    """The result of a changing command; the server's own JSON for one target that has some."""
    if len(outcomes) == 1:
        raw = outcomes[0].raw or outcomes[0].as_json()
    elif any(outcome.raw for outcome in outcomes):
        raw = {outcome.name: outcome.raw or outcome.as_json() for outcome in outcomes}
    else:
        raw = [outcome.as_json() for outcome in outcomes]
    return Result(
        raw=raw,
        table=Table(("NAME", "RESULT"), tuple((outcome.name, outcome.message) for outcome in outcomes)),
        names=tuple(outcome.name for outcome in outcomes if not outcome.failed),
        outcomes=tuple(outcomes),
    )


def common_code(codes: Sequence[int]) -> int:
    """The exit code of several: the one they share, 1 when failures differ."""
    failures = {code for code in codes if code != DONE}
    if not failures:
        return DONE
    return failures.pop() if len(failures) == 1 else FAILED
