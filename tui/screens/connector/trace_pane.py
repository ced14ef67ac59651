"""The trace page: the stack traces of a connector and its failed tasks."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.model import Connector
from tui.screens.base import stack_traces
from tui.screens.base.program import copy
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.pager import Pager


class TracePager(Pager):
    """Root causes first, then every trace in full."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy trace", tooltip="copy the whole trace")]

    def __init__(self, services: ClusterServices, id: str = "trace") -> None:
        super().__init__(id=id)
        self.services = services
        self.connector: Connector | None = None

    def tell(self, connector: Connector, top: bool = False) -> None:
        """Shows the traces of the connector; with `top`, scrolls to the first line."""
        self.connector = connector
        self.put(stack_traces.content(connector), top=top)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "copy" or bool(self.connector and self.connector.traces)

    def action_copy(self) -> None:
        """Copies the trace as the worker sent it, with every frame."""
        if self.connector is not None:
            copy(self, self.connector.traces, "the whole trace")
