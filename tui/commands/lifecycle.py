"""The verbs that move a connector between its states: stop, pause, resume, restart, delete."""

from __future__ import annotations

from tui import model
from tui.commands.arguments import by_regex, flag, one_of, option, word, words
from tui.commands.base import ChangingCommand, CommandContext, Danger, refuse
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.targets import chosen, compiled, each, must_confirm, there
from tui.errors import HeadraceError, NotFound


class _EachConnector(ChangingCommand):
    """One request to each connector named. `done` is what is said afterwards."""

    done = ""

    names = words("NAME", "connectors; globs are fine")
    regex = by_regex()

    def check(self) -> None:
        if self.regex:
            for pattern in self.names:
                compiled(pattern)

    async def run(self, context: CommandContext) -> Result:
        names = await chosen(context.connect, self.names, self.regex)
        if self.dry_run:
            return await there(context.connect, names, self.would())
        if self.danger is Danger.NAME or len(names) > len(self.names):
            must_confirm(context, self.yes, self.verb.partition(" ")[0], names)

        async def act(name: str) -> TargetOutcome:
            await self.request(context, name)
            return TargetOutcome(name, self.done)

        return await each(names, act)

    def would(self) -> str:
        """What a dry run says."""
        return f"would be {self.done}"

    async def request(self, context: CommandContext, name: str) -> None:
        raise NotImplementedError


class Stop(_EachConnector):
    """Stop connectors: no tasks are left, and offsets may be changed."""

    verb, key, done = "stop connector", "s", "stopped"
    danger = Danger.ASK

    async def request(self, context: CommandContext, name: str) -> None:
        await context.connect.stop(name)


class Pause(_EachConnector):
    """Pause connectors: tasks stay, but move no records."""

    verb, key, done = "pause connector", "p", "paused"
    danger = Danger.ASK

    async def request(self, context: CommandContext, name: str) -> None:
        await context.connect.pause(name)


class Resume(_EachConnector):
    """Resume connectors that are paused or stopped."""

    verb, key, done = "resume connector", "r", "resumed"

    async def request(self, context: CommandContext, name: str) -> None:
        await context.connect.resume(name)


class Restart(_EachConnector):
    """Restart connectors: the connector alone, or with all tasks, or with the failed ones."""

    verb, key, done = "restart connector", "R", "restarted"
    danger = Danger.ASK

    tasks = option("-t", "--tasks", metavar="ALL|FAILED", help="tasks as well", convert=one_of("ALL", "FAILED"))

    async def request(self, context: CommandContext, name: str) -> None:
        await context.connect.restart(name, tasks=self.tasks is not None, only_failed=self.tasks == "FAILED")


class RestartTask(ChangingCommand):
    """Restart one task."""

    verb = "restart task"
    danger = Danger.ASK

    task = word("NAME/ID", "as in demo-sink/0")

    def check(self) -> None:
        _, slash, number = self.task.rpartition("/")
        refuse(not slash or not number.isdecimal(), f"{self.task!r} names no task: it looks like demo-sink/0")

    async def run(self, context: CommandContext) -> Result:
        name, _, number = self.task.rpartition("/")
        if self.dry_run:
            return await self._preview(context, name, int(number))

        async def act(task: str) -> TargetOutcome:
            await context.connect.restart_task(name, int(number))
            return TargetOutcome(task, "restarted")

        return await each([self.task], act)

    async def _preview(self, context: CommandContext, name: str, number: int) -> Result:
        tasks = model.connector(name, await context.connect.status(name)).tasks
        if all(task.id != number for task in tasks):
            raise NotFound(f"No status found for task {name}-{number}", 404)
        return confirmation([TargetOutcome(self.task, "would be restarted")])


class Delete(_EachConnector):
    """Delete connectors. Their committed offsets stay, unless --with-offsets resets them first.

    In a terminal it asks before; in a script, where nobody can be asked, it deletes at once, with or without -y.
    """

    verb, key, done = "delete connector", "D", "deleted"
    danger = Danger.NAME

    with_offsets = flag("--with-offsets", help="its offsets too, before; it is stopped for that")
    reason = option("--reason", metavar="TEXT", help="why its offsets go: kept in their history", convert=str)

    def would(self) -> str:
        return "would be deleted, and its offsets reset" if self.with_offsets else "would be deleted"

    async def request(self, context: CommandContext, name: str) -> None:
        if not self.with_offsets:
            await context.connect.delete(name)
            return
        from tui.offsets.undo import by_worker

        if await by_worker(context.connect, name) is not None:
            answer = await context.connect.delete_with_offsets(name, context.notebook.origin(self.reason or ""))
            context.narrate(f"{name}: {model.verdict(answer).message}")
        else:
            await self._one_by_one(context, name)

    async def _one_by_one(self, context: CommandContext, name: str) -> None:
        """As any change of offsets. Nothing is deleted when the reset is refused: offsets of a deleted connector are
        out of reach."""
        from tui.commands.offsets import reset
        from tui.offsets.plan import Action

        try:
            done = await reset(context, name, Action.DELETE, stop=True, why=self.reason)
        except HeadraceError as error:
            error.message = f"offsets not reset, connector not deleted: {error.message}"
            raise
        context.narrate(f"{name}: {done.message}")
