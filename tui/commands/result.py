"""The results of commands, which screens draw and scripts print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tui.errors import DONE, FAILED, PENDING
from tui.model import Verdict

Json = Any
Cell = str | int | float | bool | None


class Table(NamedTuple):
    """Rows with named columns; those in `wide` are shown only with `-o wide`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    wide: frozenset[str] = frozenset()


class TargetOutcome(NamedTuple):
    """The outcome for one target of a changing command."""

    name: str
    message: str  # such as `stopped`, or the server's own message
    code: int = DONE
    verdict: Verdict | None = None
    raw: Json = None  # the server's response, if it has a body

    @property
    def failed(self) -> bool:
        return self.code != DONE

    def as_json(self) -> Json:
        """`{"name", "result"}` or `{"name", "error"}`."""
        return {"name": self.name, "error" if self.failed else "result": self.message}


class Result(NamedTuple):
    """`raw` for JSON and YAML, `table` or `text` for people, `names` for `-o name`; `outcomes` of changes."""

    raw: Json = None
    table: Table | None = None
    text: str = ""
    names: tuple[str, ...] = ()
    outcomes: tuple[TargetOutcome, ...] = ()
    prose: bool = False  # whether `text` may be folded to the terminal's width
    pending: bool = False  # whether a dry run found changes
    code: int = DONE  # the exit code of a check; see `tui.watch.checking`
    parts: tuple[Table, ...] = ()  # tables below `text`, in this order
    plan: Any = None  # of a dry run: what the command carries out once this is confirmed, see CommandContext

    @property
    def exit_code(self) -> int:
        """The common exit code of the outcomes, PENDING, or that of a check; see `tui.errors`."""
        return common_code([outcome.code for outcome in self.outcomes]) or (PENDING if self.pending else self.code)

    @property
    def is_confirmation(self) -> bool:
        """Whether the result confirms a change: scripts print it to standard error unless -o is given."""
        return bool(self.outcomes)


def confirmation(outcomes: Sequence[TargetOutcome]) -> Result:
    """The result of a changing command; its JSON is the server's own where there is one."""
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
    """The exit code for several outcomes: that of all failures if they agree, otherwise 1."""
    failures = {code for code in codes if code != DONE}
    if not failures:
        return DONE
    return failures.pop() if len(failures) == 1 else FAILED
