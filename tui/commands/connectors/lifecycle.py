"""The verbs that change a connector's state: stop, pause, resume, restart, delete."""

from __future__ import annotations

from typing import ClassVar

from tui import model
from tui.client.versions import STOP
from tui.commands.arguments import choice, flag, option, positional, positionals, regex_flag
from tui.commands.base import ChangingCommand, Danger, refuse
from tui.commands.context import CommandContext
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.settling import STARTED, Goal, settle_option, settled
from tui.commands.targets import change_each, dry_run_existing, require_confirmation, select_names, selector
from tui.errors import HeadraceError, NotFound


class _EachConnector(ChangingCommand):
    """One request per connector. `done` is the message of a success."""

    done = ""
    selects = True
    goal: ClassVar[str] = ""  # the state that the request leads to; empty if none is waited for

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()

    def check(self) -> None:
        selector(self.names, self.regex)

    async def run(self, context: CommandContext) -> Result:
        names = await select_names(context.cluster.connect, self.names, self.regex)
        if self.dry_run:
            return await dry_run_existing(context.cluster.connect, names, self.would())
        if self.danger is Danger.NAME or len(names) > len(self.names):
            require_confirmation(context.terminal, self.yes, self.verb.partition(" ")[0], names)

        async def act(name: str) -> TargetOutcome:
            await self.request(context, name)
            return TargetOutcome(name, self.done)

        result = await change_each(names, act)
        if not self.goal:
            return result
        return await settled(context, result, dict.fromkeys(names, Goal(self.goal)), self.values.get("settle"))

    def would(self) -> str:
        """The message of a dry run."""
        return f"would be {self.done}"

    async def request(self, context: CommandContext, name: str) -> None:
        """Sends the request for one connector. Raises HeadraceError."""
        raise NotImplementedError


class Stop(_EachConnector):
    """Stop connectors: their tasks end, and their offsets can be changed."""

    verb, key, done, goal = "stop connector", "s", "stopped", "STOPPED"
    danger = Danger.ASK
    needs = STOP
    settle = settle_option()

    async def request(self, context: CommandContext, name: str) -> None:
        await context.cluster.connect.stop(name)


class Pause(_EachConnector):
    """Pause connectors: their tasks remain, but process no records."""

    verb, key, done, goal = "pause connector", "p", "paused", "PAUSED"
    danger = Danger.ASK
    settle = settle_option()

    async def request(self, context: CommandContext, name: str) -> None:
        await context.cluster.connect.pause(name)


class Resume(_EachConnector):
    """Resume paused or stopped connectors."""

    verb, key, done, goal = "resume connector", "r", "resumed", "RUNNING"
    settle = settle_option()

    async def request(self, context: CommandContext, name: str) -> None:
        await context.cluster.connect.resume(name)


class Restart(_EachConnector):
    """Restart connectors; -t also restarts their tasks, all or only the failed ones."""

    verb, key, done, goal = "restart connector", "R", "restarted", STARTED
    danger = Danger.ASK
    settle = settle_option()

    tasks = option(
        "-t",
        "--tasks",
        metavar="ALL|FAILED",
        help="also restart all tasks, or the failed ones",
        convert=choice("ALL", "FAILED"),
    )

    async def request(self, context: CommandContext, name: str) -> None:
        await context.cluster.connect.restart(name, tasks=self.tasks is not None, only_failed=self.tasks == "FAILED")


class RestartTask(ChangingCommand):
    """Restart one task."""

    verb = "restart task"
    danger = Danger.ASK
    settle = settle_option()

    task = positional("NAME/ID", "for example demo-sink/0")

    def check(self) -> None:
        _, slash, number = self.task.rpartition("/")
        refuse(
            not slash or not number.isdecimal(),
            f"{self.task!r} is not a task: expected NAME/ID, for example demo-sink/0",
        )

    async def run(self, context: CommandContext) -> Result:
        name = self.task.rpartition("/")[0]
        if self.dry_run:
            return await self._preview(context, name, self.number)

        async def act(task: str) -> TargetOutcome:
            await self.request(context, name)
            return TargetOutcome(task, "restarted")

        result = await change_each([self.task], act)
        return await settled(context, result, {self.task: Goal(STARTED, name, self.number)}, self.settle)

    @property
    def number(self) -> int:
        return int(self.task.rpartition("/")[2])

    async def request(self, context: CommandContext, name: str) -> None:
        """Sends the request for the task of this connector. Raises HeadraceError."""
        await context.cluster.connect.restart_task(name, self.number)

    async def _preview(self, context: CommandContext, name: str, number: int) -> Result:
        tasks = model.connector(name, await context.cluster.connect.status(name)).tasks
        if all(task.id != number for task in tasks):
            raise NotFound(f"No status found for task {name}-{number}", 404)
        return confirmation([TargetOutcome(self.task, "would be restarted")])


class Delete(_EachConnector):
    """Delete connectors. Their committed offsets remain, unless --with-offsets resets them first.

    Asks for confirmation on a terminal; in a script it deletes at once, with or without -y.
    """

    verb, key, done = "delete connector", "D", "deleted"
    danger = Danger.NAME

    with_offsets = flag("--with-offsets", help="stop the connector and reset its offsets first")
    reason = option("--reason", metavar="TEXT", help="the reason, for the history of the offsets", convert=str)

    def would(self) -> str:
        return "would be deleted, and its offsets reset" if self.with_offsets else "would be deleted"

    async def request(self, context: CommandContext, name: str) -> None:
        if not self.with_offsets:
            await context.cluster.connect.delete(name)
            return
        from tui.offsets.undo import by_worker

        if await by_worker(context.cluster.connect, name) is not None:
            response = await context.cluster.connect.delete_with_offsets(
                name, context.cluster.change_store.origin(self.reason or "")
            )
            context.terminal.report(f"{name}: {model.verdict(response).message}")
        else:
            await self._one_by_one(context, name)

    async def _one_by_one(self, context: CommandContext, name: str) -> None:
        """Resets the offsets by a normal change. If that fails, the connector is not deleted, since the offsets of a
        deleted connector cannot be reset."""
        from tui.commands.offsets.altering import reset
        from tui.offsets.plan import PlanAction

        try:
            done = await reset(context, name, PlanAction.DELETE, stop=True, why=self.reason)
        except HeadraceError as error:
            error.message = f"offsets not reset, connector not deleted: {error.message}"
            raise
        context.terminal.report(f"{name}: {done.message}")
