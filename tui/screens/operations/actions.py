"""The verbs that keys send to the connector under the cursor: the commands' own classes, for one literal name."""

from __future__ import annotations

from glob import escape
from shlex import quote
from typing import NamedTuple

from tui.commands.base import CommandContext, Danger
from tui.commands.connectors.lifecycle import Delete, Pause, Restart, Resume, Stop
from tui.commands.targets import is_glob
from tui.model import Connector


class ConnectorAction(NamedTuple):
    """`goal` is the state that ends it; `doing` stands in the row meanwhile; `effect` is what the dialog says,
    and `otherwise` how to have it another way."""

    name: str
    command: type[Stop | Pause | Resume | Restart | Delete]
    goal: str
    doing: str
    effect: str
    otherwise: str = ""

    @property
    def danger(self) -> Danger:
        return self.command.danger

    def needs(self, one: Connector) -> str:
        """Why it makes no sense for this connector; empty when it does."""
        if self.name in ("stop", "pause") and one.state == self.goal:
            return f"{one.name} is {self.goal} already"
        if self.name == "pause" and one.state == "STOPPED":
            return f"{one.name} is STOPPED, which is more than PAUSED"
        if self.name == "resume" and one.state == "RUNNING":
            return f"{one.name} is RUNNING already" + ("; R restarts what failed" if one.failed else "")
        if self.name == "restart" and one.state in ("STOPPED", "PAUSED"):
            return f"{one.name} is {one.state}: a restart would leave it so; r resumes it"
        return ""

    def build(self, one: Connector) -> Stop | Pause | Resume | Restart | Delete:
        """A restart takes the tasks along: all of them, or those that failed where some did."""
        if self.command is Restart:
            return Restart(names=(one.name,), tasks="FAILED" if one.overall == "FAILED" else "ALL")
        return self.command(names=(one.name,))

    async def send(self, one: Connector, context: CommandContext) -> None:
        """To this very name: a connector called `a*` is not a pattern here."""
        await self.build(one).request(context, one.name)

    def script_line(self, one: Connector) -> str:
        options = " -t " + ("FAILED" if one.overall == "FAILED" else "ALL") if self.name == "restart" else ""
        name = quote(escape(one.name) if is_glob(one.name) else one.name)
        if name.startswith("-"):
            return f"{self.command.verb}{options} -- {name}"
        return f"{self.command.verb} {name}{options}"


ACTIONS = {
    action.name: action
    for action in (
        ConnectorAction("stop", Stop, "STOPPED", "stopping", "Tasks end; offsets stay, and may be edited then."),
        ConnectorAction("pause", Pause, "PAUSED", "pausing", "Tasks stay, but move no records."),
        ConnectorAction("resume", Resume, "RUNNING", "resuming", ""),
        ConnectorAction(
            "restart", Restart, "RUNNING", "restarting", "Starts anew; where something FAILED, only that does."
        ),
        ConnectorAction(
            "delete",
            Delete,
            "DELETED",
            "deleting",
            "The config is gone for good. Committed offsets stay.",
            "`:delete NAME --with-offsets` resets them too.",
        ),
    )
}
