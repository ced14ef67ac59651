"""The base classes of commands, the context they run in, and `execute`, which runs them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tui.commands.arguments import Argument, choice, flag, option
from tui.commands.result import Result
from tui.errors import NOT_FOUND, HeadraceError, NotFound, UsageError, naming
from tui.user_folders import state_folder

if TYPE_CHECKING:
    from tui.client.client import Connect
    from tui.client.password_keys import PasswordKeys
    from tui.config.history_files import ConfigHistoryFiles
    from tui.contexts.contexts_file import ContextsFile
    from tui.contexts.profiles import Profile
    from tui.offsets.brokers import Brokers
    from tui.offsets.change_store import ChangeStore
    from tui.offsets.seek import SeekPlanner

Emit = Callable[[Any, str, Sequence[str]], None]  # an item, the output format, the item as a table row
FORMATS = ("table", "wide", "json", "jsonl", "yaml", "name")


class Danger(IntEnum):
    """The confirmation that a screen requires before it runs a command."""

    NONE = 0
    ASK = 1  # y/n
    NAME = 2  # the connector's name typed


class CommandContext:
    """The resources of a command: the cluster (connected on first use), messages to the user, files and the clock."""

    def __init__(
        self,
        open_connection: Callable[[], Connect],
        *,
        profile: Callable[[], Profile],
        profiles: ContextsFile,
        report: Callable[[str], None] = lambda text: None,
        read: Callable[[str], str],
        confirm: Callable[[str], bool] = lambda question: True,
        clock: Callable[[], float] = time.monotonic,
        emit: Emit | None = None,
        known_profile: Callable[[], Profile | None] | None = None,
        screen_profile: str = "",
        settings_problems: Callable[[Path], list[str]] = lambda folder: [],
        connect_other: Callable[[Profile], Connect] | None = None,
        terminal: Callable[[str], None] | None = None,
    ) -> None:
        self._open_connection, self._profile = open_connection, profile
        self._connect: Connect | None = None
        self._password_keys: PasswordKeys | None = None
        self.profiles, self.report, self.read, self.confirm, self.clock = profiles, report, read, confirm, clock
        self._emit = emit
        self._connect_other = connect_other or _no_other
        self.terminal = terminal  # writes control sequences; None: there is no terminal
        self.screen_profile = screen_profile  # the name of the context that the screen shows
        self.settings_problems = settings_problems  # problems in the user's settings, as the screen reports them
        self.known_profile = known_profile or profile  # starts nothing; None means the embedded cluster

    @property
    def connect(self) -> Connect:
        """The client of the cluster, connected on first use."""
        if self._connect is None:
            self._connect = self._open_connection()
        return self._connect

    @property
    def profile(self) -> Profile:
        return self._profile()

    @property
    def password_keys(self) -> PasswordKeys:
        """The keys of type PASSWORD of the cluster's plugins."""
        from tui.client.password_keys import PasswordKeys

        if self._password_keys is None:
            self._password_keys = PasswordKeys(self.connect.plugin_config)
        return self._password_keys

    @property
    def change_store(self) -> ChangeStore:
        """The offset changes of this cluster that this machine has recorded."""
        from tui.offsets.change_store import change_store

        return change_store(self.profile.label)

    @property
    def config_history(self) -> ConfigHistoryFiles:
        """The changes of configs of this cluster that this machine has recorded."""
        from tui.config.history_files import ConfigHistoryFiles

        return ConfigHistoryFiles(state_folder(os.environ), self.profile.label)

    @property
    def seek_planner(self) -> SeekPlanner:
        """Resolves times to offsets of sinks: by the worker, or else by the brokers of the profile."""
        from tui.offsets.seek import SeekPlanner

        return SeekPlanner(self.connect, self.brokers)

    def brokers(self) -> Brokers:
        """The brokers of the profile; raises HeadraceError if it names none."""
        from tui.contexts.secrets import resolve
        from tui.offsets.brokers import brokers

        profile = self.profile
        return brokers(profile.bootstrap, {key: resolve(text) for key, text in profile.client.items()})

    def kafka_settings(self) -> dict[str, str]:
        """librdkafka's settings for the brokers of the profile; raises HeadraceError if it names none."""
        from tui.contexts.kafka import client_properties, no_brokers

        if not (settings := client_properties(self.profile)):
            raise no_brokers(self.profile)
        return settings

    @property
    def emits(self) -> bool:
        """Whether items are printed as they arrive; otherwise the result holds them."""
        return self._emit is not None

    def emit(self, item: Any, form: str, row: Sequence[str]) -> None:
        """Prints an item immediately, if `emits`."""
        if self._emit is not None:
            self._emit(item, form, row)

    def write(self, path: str, text: str) -> None:
        """Replaces a file atomically by one that only the user can read. Raises HeadraceError."""
        from tui import private_file

        try:
            private_file.replace(Path(path).expanduser(), text)
        except OSError as error:
            raise HeadraceError(f"cannot write {path}: {error.strerror}") from error

    def other_profile(self, name: str) -> Profile:
        """Another context; read-only if --read-only was given. Raises HeadraceError if it does not exist."""
        profile = self.profiles.get(name)
        return profile.as_read_only() if self.profile.option_read_only else profile

    @asynccontextmanager
    async def other(self, name: str) -> AsyncIterator[Connect]:
        """A client for the cluster of another context. Raises HeadraceError if there is no such context."""
        async with self.connected_to(self.other_profile(name)) as connect:
            yield connect

    @asynccontextmanager
    async def connected_to(self, profile: Profile) -> AsyncIterator[Connect]:
        """A client for another cluster; its errors name the cluster."""
        connect = self._connect_other(profile)
        try:
            with naming(profile.label):
                yield connect
        finally:
            await connect.close()

    async def close(self) -> None:
        if self._connect is not None:
            await self._connect.close()


def _no_other(profile: Profile) -> Connect:
    raise HeadraceError(f"{profile.label} cannot be reached from here")


class Command:
    """A verb. The docstring is its help, `verb` the words to type; arguments are class attributes."""

    verb: ClassVar[str] = ""
    changes: ClassVar[bool] = False  # whether it changes the cluster
    danger: ClassVar[Danger] = Danger.NONE
    local: ClassVar[bool] = False  # whether it needs no cluster
    key: ClassVar[str] = ""  # its key in the connector list
    noun: ClassVar[str] = "connector"  # the kind of its targets
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
    """Runs a command for the screen or a script. Raises ReadOnly if it would change a cluster that is read-only."""
    if command.changes and not command.values.get("dry_run"):
        from tui.contexts import policy

        policy.permit(context.profile, command.verb)
    try:
        result = await command.run(context)
    except NotFound as error:
        from tui.commands.suggestions import advise

        await advise(error, command.verb, command.given, context.connect)
        raise
    if all(outcome.code != NOT_FOUND for outcome in result.outcomes):
        return result
    from tui.commands.suggestions import advised

    return await advised(result, command.verb, context.connect)


def refuse(condition: bool, message: str) -> None:
    """Raises UsageError(message) if the condition is true."""
    if condition:
        raise UsageError(message)
