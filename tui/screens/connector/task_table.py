"""The tasks tab: a row for each task, with the root cause of its failure."""

from __future__ import annotations

from collections.abc import Mapping

from tui.causes import cause_line
from tui.model import Connector, Task
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid

COLUMNS = (
    Column("id", "TASK", 4, right=True),
    Column("state", "STATE", 12),
    Column("worker", "WORKER", 16, grows=True, shrinks=True),
    Column("version", "VERSION", 8, rank=2),
    Column("cause", "CAUSE", 10, rank=1, grows=True),
)


def fill(grid: Grid, connector: Connector) -> None:
    """Shows the tasks of the connector in the grid."""
    cells = {str(task.id): _cells(task) for task in connector.tasks}
    widths = {
        "worker": max((len(task.worker) for task in connector.tasks), default=0),
        "cause": max((len(cause_line(task.trace)) for task in connector.tasks), default=0),
    }
    instead = {"state": Cell("no tasks", "grid--muted")}
    grid.show(list(cells) or [""], lambda key: cells.get(key, instead), widths)


def _cells(task: Task) -> Mapping[str, Cell]:
    return {
        "id": Cell(str(task.id)),
        "state": Cell(states.word(task.state), states.style_class(task.state)),
        "worker": Cell(task.worker, "grid--muted"),
        "version": Cell(task.version, "grid--muted"),
        "cause": Cell(cause_line(task.trace), "grid--error"),
    }
