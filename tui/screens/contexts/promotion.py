"""A connector on its way to another context: its mapped and edited config, the step planned for it, the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from glob import escape
from shlex import quote

from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.connectors.plan import CREATE, PlanStep
from tui.commands.connectors.promotion_steps import STATES, planned_step, take_step
from tui.commands.result import TargetOutcome
from tui.commands.settling import STARTED, Goal
from tui.commands.targets import is_glob
from tui.config.changes import ConfigChange, changes
from tui.config.creating import new_state
from tui.config.history import summary
from tui.config.promotion import masks
from tui.config.secrets import MASK, hides
from tui.errors import HeadraceError, Unreachable, error_line

REFUSED = "refused"
NOT_TRIED = "not tried: the cluster does not respond"


@dataclass(slots=True)
class Promotion:
    """One connector: `source` is its config here, `mapped` after the mapping; `edits` are the user's values by key,
    None for a removed key; `passwords` are the keys of type PASSWORD."""

    name: str
    source: Mapping[str, str]
    mapped: Mapping[str, str]
    edits: dict[str, str | None] = field(default_factory=dict)
    passwords: frozenset[str] = frozenset()
    step: PlanStep | None = None
    problem: str = ""  # why it cannot be promoted
    outcome: str = ""  # the result of the last attempt
    failed: bool = False  # another attempt may succeed
    has_ended: bool = False  # promoted, but it has failed since
    is_running: bool = False

    @property
    def config(self) -> dict[str, str]:
        """The config to promote."""
        values = {**self.mapped, **self.edits}
        return {key: value for key, value in values.items() if value is not None}

    def edit(self, config: Mapping[str, str]) -> None:
        """Replaces the config to promote; the result of an earlier attempt no longer applies."""
        self.edits = {change.key: change.after for change in changes(self.mapped, config)}
        self.outcome, self.failed, self.has_ended = "", False, False

    @property
    def target_name(self) -> str:
        """Its name in the other cluster."""
        return self.config.get("name", self.name)

    @property
    def pending(self) -> bool:
        return self.step is not None and self.step.pending and not self.problem

    @property
    def rewritten(self) -> tuple[ConfigChange, ...]:
        """The differences between its config here and the one to promote."""
        return changes(self.source, self.config)

    def script_line(self, to: str, state: str) -> str:
        """The script line that does the same; secrets are masked and have to be filled in."""
        words = ["promote", quote(escape(self.name) if is_glob(self.name) else self.name), "--to", quote(to)]
        for key, value in self.edits.items():
            if key == "name":
                words += ["--as", quote(self.target_name)]
            elif value is None:
                words += ["-r", quote(key)]
            else:
                words += ["-s", quote(f"{key}={MASK if hides(key, value, self.passwords) else value}")]
        return " ".join(words if state == STATES[0] else [*words, "--state", state])

    async def plan(self, other: Connect, to: str, keys: PasswordKeys) -> None:
        """Plans the step, validated by the other cluster; its `keys` of type PASSWORD are added to `passwords`.
        Raises Unreachable; other errors become the problem."""
        self.step, self.problem = None, ""
        if hidden := masks(self.config):
            self.problem = f"this cluster masks {', '.join(hidden)}: e enters the value"
            return
        try:
            self.step = await planned_step(other, to, self.name, self.config, keys)
            self.passwords |= self.step.passwords
        except Unreachable:
            raise
        except HeadraceError as error:
            self.problem = error_line(error)

    async def run(self, other: Connect, to: str, state: str) -> TargetOutcome:
        """Takes the planned step. Raises HeadraceError."""
        assert self.step is not None
        return await take_step(other, to, self.step, await new_state(other, state))

    def goal(self, state: str) -> Goal:
        """What is observed after its step; `state` is that of new connectors."""
        return Goal(state if self.step is not None and self.step.action == CREATE else STARTED, self.target_name)

    @property
    def word(self) -> str:
        """The planned action, for a row."""
        if self.problem:
            return REFUSED
        return "…" if self.step is None else self.step.action

    @property
    def text(self) -> str:
        """The rest of its row: the outcome, the problem, or the changed keys."""
        if self.is_running:
            return "… promoting"
        if self.outcome:
            return f"{'✗' if self.failed or self.has_ended else '✓'} {self.outcome}"
        if self.problem or self.step is None:
            return self.problem
        return "" if self.step.action == CREATE else summary(self.step.changes)


def clashes(promotions: list[Promotion]) -> dict[str, str]:
    """By name, why connectors cannot be promoted together: two would have the same name there."""
    problems: dict[str, str] = {}
    first: dict[str, str] = {}
    for promotion in promotions:
        if (other := first.setdefault(promotion.target_name, promotion.name)) != promotion.name:
            problems[promotion.name] = f"{other} would also be {promotion.target_name}: e changes the name"
    return problems
