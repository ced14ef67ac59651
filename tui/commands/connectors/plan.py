"""The plan of `apply`: for each connector an action and the keys that change, as text or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tui.commands.connectors.documents import ConnectorDocument
from tui.config.changes import ConfigChange, changes, diff_lines
from tui.config.secrets import contains_mask, is_masked, masked
from tui.errors import HeadraceError

CREATE, UPDATE, DELETE, KEEP = "create", "update", "delete", "unchanged"
SIGNS = {CREATE: "+", UPDATE: "~", DELETE: "-", KEEP: " "}


class PlanStep(NamedTuple):
    """The action for one connector. `before` is its config on the cluster, None if it does not exist; `passwords` are
    the keys of type PASSWORD."""

    name: str
    action: str
    before: Mapping[str, str] | None = None
    changes: tuple[ConfigChange, ...] = ()
    document: ConnectorDocument | None = None
    passwords: frozenset[str] = frozenset()

    @property
    def pending(self) -> bool:
        """Whether the step changes anything."""
        return self.action != KEEP

    def diff(self) -> list[str]:
        """A heading and diff lines, with secrets masked."""
        return [f"@@ {self.action} {self.name} @@", *diff_lines(self.changes, self.passwords)]

    def as_json(self) -> Any:
        """`{"name", "action", "changes": [{"key", "before", "after"}]}`, with secrets masked."""
        keys = [
            {
                "key": change.key,
                "before": masked(change.key, change.before, self.passwords),
                "after": masked(change.key, change.after, self.passwords),
            }
            for change in self.changes
        ]
        return {"name": self.name, "action": self.action, "changes": keys}


def step(document: ConnectorDocument, before: Mapping[str, str] | None) -> PlanStep:
    """The step for a file's connector. Raises HeadraceError if a new value is a mask."""
    differences = changes(before or {}, document.config)
    values = {change.key: change.after for change in differences if change.after is not None}
    masks = [key for key, value in values.items() if contains_mask(value) or (before is None and is_masked(value))]
    if masks:
        raise HeadraceError(
            f"{document.where}: {', '.join(masks)} is a mask, not a value",
            "give the value, or a ${provider:…} reference",
        )
    return PlanStep(
        document.name, CREATE if before is None else UPDATE if differences else KEEP, before, differences, document
    )


def removal(name: str, before: Mapping[str, str]) -> PlanStep:
    """The step that deletes a connector."""
    return PlanStep(name, DELETE, before, changes(before, {"name": name}))


def text_of(steps: Sequence[PlanStep]) -> str:
    """The diffs of all steps, and the summary."""
    lines = [line for step in steps if step.pending for line in [*step.diff(), ""]]
    return "\n".join([*lines, summary(steps)])


def summary(steps: Sequence[PlanStep]) -> str:
    """The number of connectors by action."""
    counts = {action: sum(step.action == action for step in steps) for action in SIGNS}
    return f"plan: {counts[CREATE]} to create, {counts[UPDATE]} to update, {counts[DELETE]} to delete, " + (
        f"{counts[KEEP]} unchanged"
    )
