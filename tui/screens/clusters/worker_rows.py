"""The rows of the workers screen and of a worker's units: what the group reports, and what statuses say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tui.causes import cause_line
from tui.client.workers import ACTIVE, CONNECTOR, DRAINED, DRAINING, ClusterWorkers
from tui.cluster.cluster_overview import severity
from tui.formatting import megabytes
from tui.model import Connector
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell

NOWHERE = "(no worker)"
LEFT = "LEFT"  # statuses name the worker, but it is not in the group
MOVING = "MOVING"  # of a unit: its assignment and its status differ
_MOVING_GLYPH = "↻"

DERIVED_COLUMNS = (
    Column("worker", "WORKER", 22, grows=True),
    Column("worst", "WORST", 13),
    Column("connectors", "CONNECTORS", 16, grows=True),
    Column("tasks", "TASKS", 16, grows=True),
)
COLUMNS = (
    Column("worker", "WORKER", 16, grows=True, middle=True),
    Column("state", "STATE", 10),
    Column("leader", "LEADER", 6, rank=1),
    Column("connectors", "CONNECTORS", 10, grows=True),
    Column("tasks", "TASKS", 16, grows=True),
    Column("load", "LOAD", 5, rank=2, right=True),
    Column("memory", "MEMORY", 8, rank=3, right=True),
    Column("slots", "SLOTS", 5, rank=3, right=True),
    Column("version", "VERSION", 12, rank=4),
)
UNIT_COLUMNS = (
    Column("connector", "CONNECTOR", 24, grows=True, middle=True),
    Column("unit", "UNIT", 10),
    Column("state", "STATE", 12),
    Column("type", "TYPE", 6, rank=2),
    Column("cause", "CAUSE", 24, rank=1, grows=True),
)

# Glyph, word and colour, as for the states of connectors.
_GLYPHS = {ACTIVE: "●", "CORDONED": "‖", DRAINING: "↻", DRAINED: "■", "FOREIGN": "?", LEFT: "○"}
_INKS = {
    ACTIVE: "grid--success",
    "CORDONED": "grid--warning",
    DRAINING: "grid--accent",
    DRAINED: "grid--warning",
    "FOREIGN": "grid--muted",
    LEFT: "grid--error",
}


class Unit(NamedTuple):
    """A connector (task -1) or a task, with its state on one worker."""

    connector: str
    task: int
    state: str
    type: str = ""
    cause: str = ""  # the root cause of a failure

    @property
    def key(self) -> str:
        """Its key in a grid; a connector's name cannot have a control character."""
        return f"{self.connector}\0{self.task}"

    @property
    def words(self) -> str:
        return "connector" if self.task == CONNECTOR else f"task {self.task}"


def units_by_worker(connectors: Iterable[Connector], group: ClusterWorkers | None = None) -> dict[str, list[Unit]]:
    """The units of each worker: as the group assigns them, otherwise as statuses say. `group` is None if the cluster
    does not report its workers."""
    owners = _owners(group) if group is not None else {}
    unitses: dict[str, list[Unit]] = {name: [] for name in group.workers} if group is not None else {}
    for connector in connectors:
        for unit, worker in _statuses(connector):
            owner = owners.pop((unit.connector, unit.task), None)
            if group is not None and owner != worker and unit.state in _REPLACED[owner is None]:
                unit = unit._replace(state=MOVING)
            unitses.setdefault(owner or worker or NOWHERE, []).append(unit)
    for (name, task), owner in owners.items():
        unitses.setdefault(owner, []).append(Unit(name, task, MOVING))
    return dict(sorted(unitses.items()))


_REPLACED = {
    False: ("RUNNING", "UNASSIGNED", "RESTARTING", "UNKNOWN"),  # the new owner starts the unit
    True: ("RUNNING", "RESTARTING"),  # the unit stops, and has no new owner yet
}
"""States that are about to change, for units with an owner (False) and without one (True). FAILED and PAUSED units keep
their state."""


def _owners(group: ClusterWorkers) -> dict[tuple[str, int], str]:
    owners = {(name, CONNECTOR): worker.worker_id for worker in group.workers.values() for name in worker.connectors}
    return owners | {unit: worker.worker_id for worker in group.workers.values() for unit in worker.tasks}


def _statuses(connector: Connector) -> Iterable[tuple[Unit, str]]:
    yield (
        Unit(connector.name, CONNECTOR, connector.state, connector.type, cause_line(connector.trace)),
        connector.worker,
    )
    for task in connector.tasks:
        yield Unit(connector.name, task.id, task.state, connector.type, cause_line(task.trace)), task.worker


def ranked(units: Iterable[Unit]) -> list[Unit]:
    """Failures first."""
    return sorted(units, key=lambda unit: (severity(unit.state), unit.connector, unit.task))


def counted_states(units: Iterable[Unit], *, tasks: bool) -> Counter[str]:
    """The numbers of connectors or tasks by state."""
    return Counter(unit.state for unit in units if (unit.task != CONNECTOR) is tasks)


def in_glyphs(counts: Mapping[str, int]) -> Cell:
    """For example `✗ 2  ● 31`, each in the colour of its state."""
    parts: list[Cell] = []
    for state in sorted(counts, key=severity):
        style = "grid--accent" if state == MOVING else states.style_class(state)
        parts += [*[Cell("  ")] * bool(parts), Cell(f"{_glyph(state)} {counts[state]:,}", style)]
    return Cell.of(parts) if parts else Cell("–", "grid--muted")


def _glyph(state: str) -> str:
    return _MOVING_GLYPH if state == MOVING else states.glyph(state)


def worker_cells(worker_id: str, group: ClusterWorkers | None, units: Sequence[Unit]) -> Mapping[str, Cell]:
    """The cells of a worker. `group` is None if the cluster does not report its workers."""
    worst = min((unit.state for unit in units), key=severity, default="")
    connectors, tasks = counted_states(units, tasks=False), counted_states(units, tasks=True)
    cells = {
        "worker": Cell(worker_id, "grid--strong"),
        "worst": Cell(f"{_glyph(worst)} {worst}" if worst else "–", states.style_class(worst)),
        "connectors": in_glyphs(connectors),
        "tasks": in_glyphs(tasks),
    }
    if group is None:
        return cells
    worker = group.workers.get(worker_id)
    if worker is None:
        return {**cells, "state": Cell("" if worker_id == NOWHERE else _word(LEFT), _INKS[LEFT])}
    cells["state"] = Cell(_word(worker.state), _INKS.get(worker.state, "grid--muted"))
    cells["leader"] = Cell("leader" if worker.leader else "", "grid--accent")
    cells["load"] = Cell("" if worker.load is None else f"{worker.load:.1f}")
    cells["memory"] = Cell("" if worker.memory is None else megabytes(worker.memory))
    cells["slots"] = Cell("" if worker.slots is None else str(worker.slots), "grid--muted")
    shown = worker.version if worker.implementation in ("", "headrace") else f"{worker.implementation} {worker.version}"
    cells["version"] = Cell(shown.strip(), "grid--muted")
    return cells


def _word(state: str) -> str:
    return f"{_GLYPHS.get(state, '?')} {state}"


def unit_cells(unit: Unit) -> Mapping[str, Cell]:
    """The cells of a unit."""
    moving = Cell(f"{_MOVING_GLYPH} {MOVING}", "grid--accent")
    return {
        "connector": Cell(unit.connector, "grid--strong"),
        "unit": Cell(unit.words),
        "state": moving if unit.state == MOVING else Cell(states.word(unit.state), states.style_class(unit.state)),
        "type": Cell(unit.type, "grid--muted"),
        "cause": Cell(unit.cause, "grid--error"),
    }
