"""The tasks tab: a row for each task, with the root cause of its failure; a key restarts the task under the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

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

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "restart_task", "restart task", id="restart-task", tooltip="restart the task under the cursor")
    ]

    class RestartWanted(Message):
        """The key that restarts a task was pressed."""

        def __init__(self, connector: str, task: int) -> None:
            super().__init__()
            self.connector, self.task = connector, task

    def __init__(self) -> None:
        super().__init__(COLUMNS, id="tasks")
        self.connector: Connector | None = None

    def set_connector(self, connector: Connector) -> None:
        """Shows the tasks of the connector."""
        self.connector = connector
        cells = {str(task.id): _cells(task) for task in connector.tasks}
        widths = {
            "worker": max((len(task.worker) for task in connector.tasks), default=0),
            "cause": max((len(cause_line(task.trace)) for task in connector.tasks), default=0),
        }
        instead = {"state": Cell("no tasks", "grid--muted")}
        self.show(list(cells) or [""], lambda key: cells.get(key, instead), widths)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "restart_task" or bool(self.connector and self.connector.tasks)

    def action_restart_task(self) -> None:
        if self.connector is not None and self.current:
            self.post_message(self.RestartWanted(self.connector.name, int(self.current)))


def _cells(task: Task) -> Mapping[str, Cell]:
    return {
        "id": Cell(str(task.id)),
        "state": Cell(states.word(task.state), states.style_class(task.state)),
        "worker": Cell(task.worker, "grid--muted"),
        "version": Cell(task.version, "grid--muted"),
        "cause": Cell(cause_line(task.trace), "grid--error"),
    }
