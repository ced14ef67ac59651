"""What a command is, what it is given, and how it is run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tui.commands.arguments import Argument, flag, one_of, option
from tui.commands.result import Result
from tui.errors import HeadraceError, UsageError

if TYPE_CHECKING:
    from tui.client.client import Connect
    from tui.contexts.contexts_file import Profiles
    from tui.contexts.profiles import Profile
    from tui.offsets.brokers import Brokers
    from tui.offsets.change_store import Notebook
    from tui.offsets.seek import Traveller

Emit = Callable[[Any, str, Sequence[str]], None]  # an item, the form asked for, its row of a table
FORMATS = ("table", "wide", "json", "jsonl", "yaml", "name")


class Danger(IntEnum):
    """How hard a screen asks before it runs a command."""

    NONE = 0
    ASK = 1  # y/n
    NAME = 2  # the connector's name typed


class CommandContext:
    """What a command may use: the cluster (dialled at first need), the user's ear, files, time."""

    def __init__(
        self,
        dial: Callable[[], Connect],
        *,
        profile: Callable[[], Profile],
        profiles: Profiles,
        narrate: Callable[[str], None] = lambda text: None,
        read: Callable[[str], str],
        confirm: Callable[[str], bool] = lambda question: True,
        clock: Callable[[], float] = time.monotonic,
        emit: Emit | None = None,
        known_profile: Callable[[], Profile | None] | None = None,
        shown: str = "",
        mistakes: Callable[[Path], list[str]] = lambda folder: [],
    ) -> None:
        self._dial, self._profile = dial, profile
        self._connect: Connect | None = None
        self.profiles, self.narrate, self.read, self.confirm, self.clock = profiles, narrate, read, confirm, clock
        self._emit = emit
        self.shown = shown  # the context that is on the screen
        self.mistakes = mistakes  # in the user's settings, as the screen finds them
        self.known_profile = known_profile or profile  # without starting anything; None: the embedded cluster

    @property
    def connect(self) -> Connect:
        if self._connect is None:
            self._connect = self._dial()
        return self._connect

    @property
    def profile(self) -> Profile:
        return self._profile()

    @property
    def notebook(self) -> Notebook:
        """What this machine keeps of changes on the cluster."""
        from tui.offsets.change_store import notebook

        return notebook(self.profile.label)

    @property
    def traveller(self) -> Traveller:
        """Resolves moments in the topics of sinks, with the brokers of the profile where the worker does not."""
        from tui.offsets.seek import Traveller

        return Traveller(self.connect, self.brokers)

    def brokers(self) -> Brokers:
        """Of the profile; HeadraceError where it names none."""
        from tui.contexts.secrets import resolve
        from tui.offsets.brokers import brokers

        profile = self.profile
        return brokers(profile.bootstrap, {key: resolve(text) for key, text in profile.client.items()})

    @property
    def emits(self) -> bool:
        """Whether somebody wants data as it comes; where not, it is in the result."""
        return self._emit is not None

    def emit(self, item: Any, form: str, row: Sequence[str]) -> None:
        if self._emit is not None:
            self._emit(item, form, row)

    def write(self, path: str, text: str) -> None:
        """Puts a file in place, whole or not at all."""
        file = Path(path).expanduser()
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            draft.write_text(text, "utf-8", "surrogateescape")
            draft.replace(file)
        except OSError as error:
            raise HeadraceError(f"cannot write {path}: {error.strerror}") from error

    async def close(self) -> None:
        if self._connect is not None:
            await self._connect.close()


class Command:
    """A verb. The docstring is its help; `verb` is what is typed; arguments are class attributes."""

    verb: ClassVar[str] = ""
    changes: ClassVar[bool] = False  # something on the cluster
    danger: ClassVar[Danger] = Danger.NONE
    local: ClassVar[bool] = False  # needs no cluster
    key: ClassVar[str] = ""  # what the connector list binds to it
    typed: str = ""  # the words that it was found by

    output = option("-o", "--output", metavar="FORMAT", help="|".join(FORMATS), convert=one_of(*FORMATS))

    def __init__(self, **values: Any) -> None:
        unknown = values.keys() - self.arguments().keys()
        if unknown:
            raise TypeError(f"{self.verb} takes no {', '.join(sorted(unknown))}")
        self.values = values
        self.check()

    @classmethod
    def arguments(cls) -> dict[str, Argument[Any]]:
        """Its declared arguments by key, its own before those every command has."""
        return {key: value for kind in cls.__mro__ for key, value in vars(kind).items() if isinstance(value, Argument)}

    @classmethod
    def usage(cls) -> str:
        """`stop connector NAME… [-e] …`"""
        return " ".join((cls.verb, *(argument.shape for argument in cls.arguments().values())))

    @classmethod
    def summary(cls) -> str:
        return (cls.__doc__ or "").strip().splitlines()[0]

    def check(self) -> None:
        """Raises UsageError when the arguments contradict each other."""

    async def run(self, context: CommandContext) -> Result:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.values.items())})"


class ChangingCommand(Command):
    """A command that changes the cluster."""

    changes = True
    dry_run = flag("--dry-run", help="say what would be done")
    yes = flag("-y", "--yes", help="do not ask")


async def execute(command: Command, context: CommandContext) -> Result:
    """Runs a command, unless the context is read-only and the command is not: the one door of screen and script."""
    if command.changes and not command.values.get("dry_run"):
        from tui.contexts import policy

        policy.permit(context.profile, command.verb)
    return await command.run(context)


def refuse(condition: bool, message: str) -> None:
    """Raises UsageError(message) if the condition holds."""
    if condition:
        raise UsageError(message)
