"""The base classes of commands, and `execute`, which runs them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from tui.commands.arguments import Argument, choice, flag, option
from tui.commands.result import Result
from tui.errors import NOT_FOUND, HeadraceError, NotFound, UsageError

if TYPE_CHECKING:
    from tui.client.versions import Feature
    from tui.commands.context import CommandContext

FORMATS = ("table", "wide", "tsv", "json", "jsonl", "yaml", "name")


class Danger(IntEnum):
    """The confirmation that a screen requires before it runs a command."""

    NONE = 0
    ASK = 1  # y/n
    NAME = 2  # the connector's name typed


class Command:
    """A verb. The docstring is its help, `verb` the words to type; arguments are class attributes."""

    verb: ClassVar[str] = ""
    changes: ClassVar[bool] = False  # whether it changes the cluster
    danger: ClassVar[Danger] = Danger.NONE
    local: ClassVar[bool] = False  # whether it needs no cluster
    key: ClassVar[str] = ""  # its key in the connector list
    noun: ClassVar[str] = "connector"  # the kind of its targets
    has_plan: ClassVar[bool] = False  # whether its dry run is a plan that must not change until it is confirmed
    selects: ClassVar[bool] = False  # whether NAME… and -e select connectors to change
    needs: ClassVar[Feature | None] = None  # checked before anything is changed
    typed: str = ""  # the words of the verb as typed

    output = option("-o", "--output", metavar="FORMAT", help="|".join(FORMATS), convert=choice(*FORMATS))

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.arguments().keys()
        if unknown:
            raise TypeError(f"{self.verb} takes no {', '.join(sorted(unknown))}")
        self.values = values
        self.check()

    @classmethod
    def arguments(cls) -> dict[str, Argument[Any]]:
        """The declared arguments by key, the command's own before those of every command."""
        return {key: value for kind in cls.__mro__ for key, value in vars(kind).items() if isinstance(value, Argument)}

    @classmethod
    def usage(cls) -> str:
        """The usage line: `stop connector NAME… [-e] …`."""
        return " ".join((cls.verb, *(argument.shape for argument in cls.arguments().values())))

    @classmethod
    def summary(cls) -> str:
        """The first line of the help."""
        return (cls.__doc__ or "").strip().splitlines()[0]

    @classmethod
    def adapt(cls, error: HeadraceError) -> None:
        """Sets the exit code, output and data of an error before the command has run, if they differ from the usual."""

    @property
    def given(self) -> list[str]:
        """The values of the positional arguments."""
        values = [self.values.get(argument.key) for argument in self.arguments().values() if not argument.flags]
        return [name for value in values for name in ((value,) if isinstance(value, str) else value or ())]

    def check(self) -> None:
        """Raises UsageError if the arguments contradict each other."""

    async def run(self, context: CommandContext) -> Result:
        """Runs the command. Raises HeadraceError."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.values.items())})"


class ChangingCommand(Command):
    """A command that changes the cluster."""

    changes = True
    dry_run = flag("--dry-run", help="show what would be done, without doing it")
    yes = flag("-y", "--yes", help="do not ask for confirmation")


async def execute(command: Command, context: CommandContext) -> Result:
    """Runs a command for the screen or a script. Raises ReadOnly if it would change a cluster that is read-only, and
    Unsupported if the cluster's version of Connect lacks what it needs."""
    if command.changes and not command.values.get("dry_run"):
        from tui.contexts import policy

        policy.permit(context.cluster.profile, command.verb)
    if command.needs is not None:
        await context.cluster.connect.require(command.needs)
    try:
        result = await command.run(context)
    except NotFound as error:
        if command.local:  # without a context, the suggestions would start an embedded cluster
            raise
        from tui.commands.suggestions import advise

        await advise(error, command.verb, command.given, context.cluster.connect)
        raise
    if all(outcome.code != NOT_FOUND for outcome in result.outcomes):
        return result
    from tui.commands.suggestions import advised

    return await advised(result, command.verb, context.cluster.connect)


def refuse(condition: bool, message: str) -> None:
    """Raises UsageError(message) if the condition is true."""
    if condition:
        raise UsageError(message)
