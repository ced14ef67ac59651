"""Failed connectors and tasks, grouped by root cause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tui.causes import cause_line
from tui.formatting import one_line
from tui.model import Connector

NO_TRACE = "no trace"
# Numbers that differ from task to task, such as offsets; not those of hosts, addresses, ports and versions.
_NUMBER = re.compile(
    r"(?<![\w.:-])\d+(?:,\d{3})*(?!\w|[.:]\d)|\b0x[0-9a-f]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    re.IGNORECASE,
)


class FailedUnit(NamedTuple):
    """A failed task, or a connector that failed itself (`task` is None)."""

    connector: str
    task: int | None
    worker: str = ""
    trace: str = ""

    @property
    def title(self) -> str:
        """`NAME/ID` for a task, the name for a connector."""
        return self.connector if self.task is None else f"{self.connector}/{self.task}"

    @property
    def cause(self) -> str:
        """The root cause in one line."""
        return one_line(cause_line(self.trace)) or NO_TRACE


class FailureGroup(NamedTuple):
    """Units with equal root causes; `cause` is that of the first one."""

    cause: str
    units: tuple[FailedUnit, ...]

    @property
    def connectors(self) -> int:
        """The number of connectors concerned."""
        return len({unit.connector for unit in self.units})

    @property
    def key(self) -> str:
        """What the causes have in common, which identifies the group."""
        return common_cause(self.cause)


def common_cause(cause: str) -> str:
    """A root cause without the numbers in which those of several tasks may differ."""
    return _NUMBER.sub("#", cause)


def failed_units(connectors: Iterable[Connector]) -> list[FailedUnit]:
    """All failed connectors and tasks, by name and number."""
    units: list[FailedUnit] = []
    for connector in sorted(connectors, key=lambda connector: connector.name):
        if connector.state == "FAILED":
            units.append(FailedUnit(connector.name, None, connector.worker, connector.trace))
        units += [
            FailedUnit(connector.name, task.id, task.worker, task.trace)
            for task in connector.tasks
            if task.state == "FAILED"
        ]
    return units


def groups(units: Iterable[FailedUnit]) -> list[FailureGroup]:
    """The units by root cause, the largest group first."""
    alike: dict[str, list[FailedUnit]] = {}
    for unit in units:
        alike.setdefault(common_cause(unit.cause), []).append(unit)
    grouped = [FailureGroup(members[0].cause, tuple(members)) for members in alike.values()]
    return sorted(grouped, key=lambda group: (-len(group.units), group.cause))
