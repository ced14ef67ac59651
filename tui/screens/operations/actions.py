"""The verbs of the keys for one connector: stop, pause, resume, restart, delete; and for one task: restart."""

from __future__ import annotations

from collections.abc import Callable
from glob import escape
from shlex import quote
from typing import NamedTuple

from tui.client.versions import Feature
from tui.commands.base import Danger
from tui.commands.connectors.lifecycle import Delete, Pause, Restart, RestartTask, Resume, Stop
from tui.commands.context import CommandContext
from tui.commands.targets import is_glob
from tui.goals import RESTARTS, part
from tui.model import Connector

Verb = Stop | Pause | Resume | Restart | RestartTask | Delete


class ConnectorAction(NamedTuple):
    """A verb and its command class. `goal` is the state that ends the operation; the row shows `doing` meanwhile; the
    dialog shows `effect` and `otherwise`, an alternative."""

    name: str
    command: type[Verb]
    goal: str
    doing: str
    effect: str
    otherwise: str = ""
    instead: str = ""  # the key for versions of Connect that cannot do it
    task: int | None = None  # the id, if the verb concerns a single task
    only_failed: bool = False  # whether it has no effect on a connector or task that is not FAILED
    option: str = ""  # what the dialog offers besides
    with_offsets: bool = False  # whether a deletion resets the offsets first

    @property
    def danger(self) -> Danger:
        return self.command.danger

    def needs(self, connector: Connector) -> str:
        """The reason why the verb has no effect on this connector; empty if it has one."""
        if self.name in ("stop", "pause") and connector.state == self.goal:
            return f"{connector.name} is already {self.goal}"
        if self.name == "pause" and connector.state == "STOPPED":
            return f"{connector.name} is STOPPED, so there is nothing to pause"
        if self.name == "resume" and connector.state == "RUNNING":
            return f"{connector.name} is already RUNNING" + (
                "; R restarts the failed tasks" if connector.failed else ""
            )
        if self.name in RESTARTS and connector.state in ("STOPPED", "PAUSED"):
            return f"{connector.name} is {connector.state}: a restart would not change that; r resumes it"
        if self.only_failed and (state := part(connector, self.task).overall) != "FAILED":
            return f"{self.target(connector)} is {state} now"
        return ""

    def outdated(self, shown: Connector, now: Connector) -> str:
        """The reason why an answer no longer applies to the connector that the question has shown; empty if it does. A
        deletion is asked again if someone else has changed the connector meanwhile, or replaced it by another."""
        if (why := self.needs(now)) or self.command is not Delete:
            return why
        if shown.config != now.config:
            return f"someone else changed the config of {now.name} or created {now.name} again"
        return f"{now.name} is {now.state} now, not {shown.state}" if shown.state != now.state else ""

    def lacking(self, missing: Callable[[Feature], str]) -> str:
        """The reason why the worker's version cannot do it, from `ClusterServices.missing`; empty if it can."""
        reason = missing(self.command.needs) if self.command.needs is not None else ""
        return f"{reason}; {self.instead}" if reason and self.instead else reason

    def target(self, connector: Connector) -> str:
        """The connector, or its task, as `title`."""
        return self.title(connector.name)

    def title(self, name: str) -> str:
        """The name of a connector, or of its task: NAME/ID."""
        return name if self.task is None else f"{name}/{self.task}"

    def build(self, connector: Connector) -> Verb:
        """The command. A restart includes the tasks: all, or only the failed ones if any has failed."""
        if self.command is RestartTask:
            return RestartTask(task=self.target(connector))
        if self.command is Restart:
            return Restart(names=(connector.name,), tasks="FAILED" if connector.overall == "FAILED" else "ALL")
        if self.command is Delete:
            return Delete(names=(connector.name,), with_offsets=self.with_offsets)
        return self.command(names=(connector.name,))

    def with_option(self, chosen: bool) -> ConnectorAction:
        """The action, with what the dialog offers besides if that was chosen."""
        return self._replace(with_offsets=chosen)

    async def send(self, connector: Connector, context: CommandContext) -> None:
        """Sends the request for exactly this name: `a*` is not a pattern here."""
        await self.build(connector).request(context, connector.name)

    def script_line(self, connector: Connector) -> str:
        """The script line that does the same."""
        options = " -t " + ("FAILED" if connector.overall == "FAILED" else "ALL") if self.name == "restart" else ""
        options += " --with-offsets" if self.with_offsets else ""
        target = self.target(connector)
        name = quote(escape(target) if self.task is None and is_glob(target) else target)
        if name.startswith("-"):
            return f"{self.command.verb}{options} -- {name}"
        return f"{self.command.verb} {name}{options}"


ACTIONS = {
    action.name: action
    for action in (
        ConnectorAction(
            "stop", Stop, "STOPPED", "stopping", "Tasks end. Offsets are kept and can be edited.", instead="p pauses"
        ),
        ConnectorAction("pause", Pause, "PAUSED", "pausing", "Tasks keep their resources but process no records."),
        ConnectorAction("resume", Resume, "RUNNING", "resuming", "Tasks continue from the committed offsets."),
        ConnectorAction(
            "restart", Restart, "RUNNING", "restarting", "Restarts connector and tasks; if any FAILED, only those."
        ),
        ConnectorAction(
            "delete",
            Delete,
            "DELETED",
            "deleting",
            "Deletes the connector; keeps its committed offsets.",
            "U restores the connector.",
            option="stop it and reset its committed offsets first",
        ),
    )
}


def restart_of(task: int, *, only_failed: bool = False) -> ConnectorAction:
    """The restart of one task of a connector."""
    effect = "Restarts this task; other tasks continue."
    return ConnectorAction(
        "restart task", RestartTask, "RUNNING", "restarting", effect, task=task, only_failed=only_failed
    )
