"""The tasks tab: a row for each task, with the first line of its stack trace."""

from __future__ import annotations

from collections.abc import Mapping

from tui.model import Connector, Task
from tui.widgets import states
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid

COLUMNS = (
    Column("id", "TASK", 4, right=True),
    Column("state", "STATE", 12),
    Column("worker", "WORKER", 16, grows=True),
    Column("version", "VERSION", 8, rank=2),
    Column("trace", "TRACE", 10, rank=1, grows=True),
)


def fill(grid: Grid, one: Connector) -> None:
    """Shows the tasks of the connector in the grid."""
    cells = {str(task.id): _cells(task) for task in one.tasks}
    widths = {
        "worker": max((len(task.worker) for task in one.tasks), default=0),
        "trace": max((len(_first(task)) for task in one.tasks), default=0),
    }
    instead = {"state": Cell("no tasks", "grid--muted")}
    grid.show(list(cells) or [""], lambda key: cells.get(key, instead), widths)


def _first(task: Task) -> str:
    return task.trace.partition("\n")[0]


def _cells(task: Task) -> Mapping[str, Cell]:
    return {
        "id": Cell(str(task.id)),
        "state": Cell(states.word(task.state), states.style_class(task.state)),
        "worker": Cell(task.worker, "grid--muted"),
        "version": Cell(task.version, "grid--muted"),
        "trace": Cell(_first(task), "grid--error"),
    }
