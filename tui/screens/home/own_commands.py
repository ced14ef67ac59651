"""Runs the user's own commands for a connector: a menu, then the program, whose output is shown.

An operator who has gone elsewhere meanwhile is not disturbed: the menu shows the output, or ends a program that runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType

from tui.appearance import settings
from tui.appearance.own_commands import OwnCommand, parse, variables
from tui.contexts.profiles import Profile
from tui.model import Connector
from tui.screens.base import reading
from tui.screens.base.key_menu import KeyMenu
from tui.screens.home.base import HomeBase
from tui.screens.listing.filtering import topics_of
from tui.scrubbing import without_user
from tui.user_folders import config_folder
from tui.widgets.text import visible

TIME_LIMIT = 60.0  # seconds for a command whose output is shown
MAX_OUTPUT = 200_000  # bytes that are shown; the rest is read, so that the program is not stopped by a full pipe
MAX_ARGUMENT = 100_000  # bytes; Linux allows 128 KiB
LAST_OUTPUT = 0.5  # seconds after the end of the program, for output of programs that it has left running
LATEST = "!"  # the key for the program that runs, or for the output of the last one
NONE = 'no own commands yet: add [[commands]] with key and run to config.toml, for example run = "runbook {name}"'


class OwnCommandsMenu(KeyMenu[OwnCommand | str]):
    """The commands by their keys. `latest` describes the choice LATEST, empty without one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "close", "close", key_display="esc")]

    def __init__(self, commands: list[OwnCommand], name: str, latest: str) -> None:
        super().__init__()
        self.commands, self.subject, self.latest = commands, name, latest

    def heading(self) -> str:
        return f"own commands for {visible(self.subject)}"

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        for command in self.commands:
            lines += [(f"  {command.key}", "bold $accent"), f"  {visible(command.name)}\n"]
        if self.latest:
            lines += [(f"  {LATEST}", "bold $accent"), f"  {visible(self.latest)}\n"]
        return lines

    def on_key(self, event: events.Key) -> None:
        chosen: OwnCommand | str | None = next(
            (command for command in self.commands if command.key == event.character), None
        )
        if event.character == LATEST and self.latest:
            chosen = LATEST
        if chosen is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(chosen)


def values_of(connector: Connector, profile: Profile) -> dict[str, str]:
    """The values of the places in a command."""
    return {
        "name": connector.name,
        "url": without_user(profile.url),
        "context": profile.label,
        "topic": next(iter(topics_of(connector)), ""),
        "class": connector.cls,
        "worker": connector.worker,
        "trace": _as_argument(connector.traces),
    }


def _as_argument(text: str) -> str:
    """The start of a text, so far as an argument or a variable of a process can hold it."""
    return text.replace("\0", "").encode("utf-8", "replace")[:MAX_ARGUMENT].decode("utf-8", "ignore")


class OwnCommands:
    """The menu of one main screen, and the programs that run for its connectors."""

    def __init__(self, home: HomeBase) -> None:
        self._home = home
        self._running: list[_Run] = []
        self._ended: _Run | None = None  # the last one that has printed something

    def open_menu(self, connector: Connector) -> None:
        """Shows the commands of `config.toml` as it is now."""
        mine, problems = settings.load(config_folder(os.environ))
        commands, invalids = parse(mine.commands)
        latest = self._latest()
        if problems or invalids:
            self._home.report((problems + invalids)[0], "warn")
        elif not commands:
            self._home.report(NONE)
        if commands or latest:
            self._home.app.push_screen(
                OwnCommandsMenu(commands, connector.name, latest), lambda choice: self._choose(choice, connector)
            )

    def _latest(self) -> str:
        if self._running:
            run = self._running[-1]
            return f"end {run.title}, which has been running for {time.monotonic() - run.started:.0f} s"
        return f"output of {self._ended.title}" if self._ended is not None else ""

    def _choose(self, choice: OwnCommand | str | None, connector: Connector) -> None:
        if isinstance(choice, OwnCommand):
            self._home.do(self._start(choice, connector))
        elif choice and self._running:
            self._running[-1].task.cancel()
        elif choice and self._ended is not None:
            self._show(self._ended)

    async def _start(self, command: OwnCommand, connector: Connector) -> None:
        values = values_of(connector, self._home.profile)
        words, environ = command.filled(values), {**os.environ, **variables(values)}
        try:
            if command.terminal:
                ended = Ended(_in_terminal(self._home, words, environ))
                self._home.report(f"{command.name}: {ended.verdict}", "bad" if ended.code else "good")
            else:
                await self._run(f"{command.name} {connector.name}", words, environ)
        except OSError as error:
            self._home.report(f"{command.name}: cannot run {words[0]}: {error.strerror}", "bad")

    async def _run(self, title: str, words: list[str], environ: dict[str, str]) -> None:
        """Raises OSError."""
        where = self._where()
        run = _Run(title, time.monotonic(), asyncio.create_task(captured(words, environ)))
        self._running.append(run)
        self._home.report(f"{title}; !! ends it", "busy")
        try:
            await asyncio.wait([run.task])
        finally:
            run.task.cancel()  # without effect if it is done
            self._running.remove(run)
        ended = Ended(-signal.SIGKILL, is_ended=True) if run.task.cancelled() else run.task.result()
        has_output = bool(ended.output.strip())
        is_here = self._where() == where
        hint = "; !! shows its output" if has_output and not is_here else ""
        self._home.report(f"{title}: {ended.verdict}{hint}", "bad" if ended.code else "good")
        if has_output:
            self._ended = run
            if is_here:
                self._show(run)

    def _where(self) -> tuple[object, ...]:
        """What the operator looks at: a page over something else would take the keys that are typed there."""
        home = self._home
        target = home.target()
        return home.app.screen, home.app.focused, target.name if target is not None else None

    def _show(self, run: _Run) -> None:
        ended = run.task.result()
        title = run.title + (f": {ended.verdict}" if ended.code else "")  # the page covers the report
        self._home.app.push_screen(reading.Reading(title, lambda width: reading.plain(ended.output), sideways=True))


class _Run(NamedTuple):
    """A program that runs or has ended, since a time of the monotonic clock."""

    title: str
    started: float
    task: asyncio.Task[Ended]


class Ended(NamedTuple):
    """The exit code of a program, negative after a signal, and what it printed."""

    code: int
    output: str = ""
    is_late: bool = False
    is_ended: bool = False  # by the operator

    @property
    def verdict(self) -> str:
        if self.is_ended:
            return "ended, with the programs it had started"
        if self.is_late:
            return f"ended after {TIME_LIMIT:g} s without a result"
        return f"exit code {self.code}" if self.code else "done"


def _in_terminal(home: HomeBase, words: list[str], environ: dict[str, str]) -> int:
    """The exit code of a program that uses the terminal, while the console waits."""
    with home.app.suspend():
        return subprocess.run(words, env=environ, check=False).returncode


class _Output(asyncio.Protocol):
    """Keeps the start of what a program prints."""

    def __init__(self) -> None:
        self.kept, self.size, self.closed = bytearray(), 0, asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        self.kept += data[: MAX_OUTPUT - len(self.kept)]

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()

    @property
    def text(self) -> str:
        text = self.kept.decode("utf-8", "replace")
        rest = self.size - len(self.kept)
        return f"{text}\n… {rest:,} more bytes are not shown" if rest else text


async def captured(words: list[str], environ: dict[str, str], limit: float = TIME_LIMIT) -> Ended:
    """Runs a program without a terminal, at most `limit` seconds; then it and the programs it has started are killed.
    Raises OSError."""
    output = _Output()
    # A pipe of our own: with asyncio's, `wait` would also wait for the programs that this one leaves running.
    ours, theirs = os.pipe()
    try:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: output, os.fdopen(ours, "rb", buffering=0))
        process = await asyncio.create_subprocess_exec(
            *words, env=environ, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(theirs)
    try:
        async with asyncio.timeout(limit):
            code = await process.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_OUTPUT):
                await output.closed.wait()
        return Ended(code, output.text)
    except TimeoutError:
        return Ended(-signal.SIGKILL, output.text, is_late=True)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        pipe.close()
