"""What a command works with: the cluster, the terminal and the user's files."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.errors import HeadraceError, naming
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


def _unreachable(profile: Profile) -> Connect:
    raise HeadraceError(f"{profile.label} cannot be reached from here")


class CommandCluster:
    """The cluster of a command, connected on first use, and the clusters of the user's other contexts."""

    def __init__(
        self,
        open_connection: Callable[[], Connect],
        profile: Callable[[], Profile],
        profiles: ContextsFile,
        *,
        known_profile: Callable[[], Profile | None] | None = None,
        connect_other: Callable[[Profile], Connect] = _unreachable,
    ) -> None:
        self._open_connection, self._profile, self._connect_other = open_connection, profile, connect_other
        self._connect: Connect | None = None
        self._password_keys: PasswordKeys | None = None
        self.profiles = profiles
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
        from tui.offsets.brokers import Brokers

        settings = self.kafka_settings()
        return Brokers(settings["bootstrap.servers"], settings)

    def kafka_settings(self) -> dict[str, str]:
        """librdkafka's settings for the brokers of the profile; raises HeadraceError if it names none."""
        from tui.contexts.kafka import client_properties, no_brokers

        if not (settings := client_properties(self.profile)):
            raise no_brokers(self.profile)
        return settings

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


class CommandTerminal(NamedTuple):
    """The user: messages, questions, and items that are printed as they arrive."""

    report: Callable[[str], None] = lambda text: None
    confirm: Callable[[str], bool] = lambda question: True
    printer: Emit | None = None  # prints an item immediately; None: the result holds the items
    control: Callable[[str], None] | None = None  # writes control sequences; None: there is no terminal
    screen_profile: str = ""  # the name of the context that the screen shows

    @property
    def emits(self) -> bool:
        """Whether items are printed as they arrive; otherwise the result holds them."""
        return self.printer is not None

    def emit(self, item: Any, form: str, row: Sequence[str]) -> None:
        """Prints an item immediately, if `emits`."""
        if self.printer is not None:
            self.printer(item, form, row)


class CommandFiles(NamedTuple):
    """Files that the user names, and the user's settings."""

    read: Callable[[str], str]  # the text of a path, `-` for standard input
    settings_problems: Callable[[Path], list[str]] = lambda folder: []  # as the screen reports them

    @staticmethod
    def write(path: str, text: str) -> None:
        """Replaces a file by one that only the user can read, or writes to a device. Raises HeadraceError."""
        from tui import private_file

        try:
            private_file.save(Path(path).expanduser(), text)
        except OSError as error:
            raise HeadraceError(f"cannot write {path}: {error.strerror}") from error


class CommandContext(NamedTuple):
    """What a command works with; `clock` limits its waiting times."""

    cluster: CommandCluster
    files: CommandFiles
    terminal: CommandTerminal = CommandTerminal()
    clock: Callable[[], float] = time.monotonic
    plan: Any = None  # the plan of the dry run that the user has confirmed, None without one
    settling: float = 0.0  # seconds, unless --settle is given; 0 where operations of the screen observe the states
