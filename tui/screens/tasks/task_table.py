"""A row for each task of a connector, with the root cause of its failure."""

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


class TaskTable(Grid):
    """The tasks of a connector."""

    def __init__(self) -> None:
        super().__init__(COLUMNS, id="task-list", sortable=True)

    def set_connector(self, connector: Connector) -> None:
        """Shows the tasks of the connector."""
        cells = {str(task.id): _cells(task) for task in connector.tasks}
        widths = {
            "worker": max((len(task.worker) for task in connector.tasks), default=0),
            "cause": max((len(cause_line(task.trace)) for task in connector.tasks), default=0),
        }
        self.empty = "no tasks"
        self.show(list(cells), lambda key: cells.get(key, {}), widths)


def _cells(task: Task) -> Mapping[str, Cell]:
    return {
        "id": Cell(str(task.id)),
        "state": Cell(states.word(task.state), states.style_class(task.state)),
        "worker": Cell(task.worker, "grid--muted"),
        "version": Cell(task.version, "grid--muted"),
        "cause": Cell(cause_line(task.trace), "grid--error"),
    }
