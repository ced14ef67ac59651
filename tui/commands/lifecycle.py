"""The verbs that move a connector between its states: stop, pause, resume, restart, delete."""

from __future__ import annotations

from tui.commands.arguments import flag, one_of, option, word, words
from tui.commands.base import Change, Context, Danger, refuse
from tui.commands.result import Outcome, Result, confirmation
from tui.commands.targets import chosen, compiled, each, must_confirm
from tui.errors import HeadraceError, about


class _EachConnector(Change):
    """One request to each connector named. `done` is what is said afterwards."""

    done = ""

    names = words("NAME", "connectors; globs are fine")
    regex = flag("-e", "--regex", help="NAMEs are regular expressions over the whole name")

    def check(self) -> None:
        if self.regex:
            for pattern in self.names:
                compiled(pattern)

    async def run(self, context: Context) -> Result:
        names = await chosen(context.connect, self.names, self.regex)
        if self.dry_run:
            return confirmation([Outcome(name, f"would be {self.done}") for name in names])
        if self.danger is Danger.NAME or len(names) > len(self.names):
            must_confirm(context, self.yes, self.verb.partition(" ")[0], names)

        async def act(name: str) -> Outcome:
            await self.request(context, name)
            return Outcome(name, self.done)

        return await each(names, act)

    async def request(self, context: Context, name: str) -> None:
        raise NotImplementedError


class Stop(_EachConnector):
    """Stop connectors: no tasks are left, and offsets may be changed."""

    verb, key, done = "stop connector", "s", "stopped"
    danger = Danger.ASK

    async def request(self, context: Context, name: str) -> None:
        await context.connect.stop(name)


class Pause(_EachConnector):
    """Pause connectors: tasks stay, but move no records."""

    verb, key, done = "pause connector", "p", "paused"
    danger = Danger.ASK

    async def request(self, context: Context, name: str) -> None:
        await context.connect.pause(name)


class Resume(_EachConnector):
    """Resume connectors that are paused or stopped."""

    verb, key, done = "resume connector", "r", "resumed"

    async def request(self, context: Context, name: str) -> None:
        await context.connect.resume(name)


class Restart(_EachConnector):
    """Restart connectors: the connector alone, or with all tasks, or with the failed ones."""

    verb, key, done = "restart connector", "R", "restarted"
    danger = Danger.ASK

    tasks = option("-t", "--tasks", metavar="ALL|FAILED", help="tasks as well", convert=one_of("ALL", "FAILED"))

    async def request(self, context: Context, name: str) -> None:
        await context.connect.restart(name, tasks=self.tasks is not None, only_failed=self.tasks == "FAILED")


class RestartTask(Change):
    """Restart one task."""

    verb = "restart task"
    danger = Danger.ASK

    task = word("NAME/ID", "as in demo-sink/0")

    def check(self) -> None:
        _, slash, number = self.task.rpartition("/")
        refuse(not slash or not number.isdecimal(), f"{self.task!r} names no task: it looks like demo-sink/0")

    async def run(self, context: Context) -> Result:
        name, _, number = self.task.rpartition("/")
        if self.dry_run:
            return confirmation([Outcome(self.task, "would be restarted")])

        async def act(task: str) -> Outcome:
            await context.connect.restart_task(name, int(number))
            return Outcome(task, "restarted")

        return await each([self.task], act)


class Delete(_EachConnector):
    """Delete connectors. Their committed offsets stay, unless --with-offsets resets them first."""

    verb, key, done = "delete connector", "D", "deleted"
    danger = Danger.NAME

    with_offsets = flag("--with-offsets", help="stop it and reset its offsets before")

    async def request(self, context: Context, name: str) -> None:
        if self.with_offsets:
            await context.connect.stop(name)
            await self._reset(context, name)
        await context.connect.delete(name)

    async def _reset(self, context: Context, name: str) -> None:
        """Nothing is deleted when the reset is refused: offsets of a deleted connector are out of reach."""
        try:
            with about(name):
                await context.connect.reset_offsets(name)
        except HeadraceError as error:
            error.message = f"offsets not reset, connector not deleted: {error.message}"
            raise
