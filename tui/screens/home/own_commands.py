"""Runs the user's own commands for a connector: a menu, then the program, whose output is shown."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import ClassVar

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
NONE = 'no own commands yet: add [[commands]] with key and run to config.toml, for example run = "runbook {name}"'


class OwnCommandsMenu(KeyMenu[OwnCommand]):
    """The commands by their keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "close", "close", key_display="esc")]

    def __init__(self, commands: list[OwnCommand], name: str) -> None:
        super().__init__()
        self.commands, self.subject = commands, name

    def heading(self) -> str:
        return f"own commands for {visible(self.subject)}"

    def choices(self) -> list[str | tuple[str, str]]:
        lines: list[str | tuple[str, str]] = []
        for command in self.commands:
            lines += [(f"  {command.key}", "bold $accent"), f"  {visible(command.name)}\n"]
        return lines

    def on_key(self, event: events.Key) -> None:
        chosen = next((command for command in self.commands if command.key == event.character), None)
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
        "trace": connector.traces,
    }


def open_menu(home: HomeBase, connector: Connector) -> None:
    """Shows the commands of `config.toml` as it is now."""
    mine, problems = settings.load(config_folder(os.environ))
    commands, invalids = parse(mine.commands)
    if problems or invalids:
        home.report((problems + invalids)[0], "warn")
    elif not commands:
        home.report(NONE)
    if commands:
        home.app.push_screen(
            OwnCommandsMenu(commands, connector.name),
            lambda command: home.do(_run(home, command, connector)) if command is not None else None,
        )


async def _run(home: HomeBase, command: OwnCommand, connector: Connector) -> None:
    values = values_of(connector, home.profile)
    words, environ = command.filled(values), {**os.environ, **variables(values)}
    try:
        if command.terminal:
            code, text = _in_terminal(home, words, environ), ""
        else:
            home.report(f"{command.name} {connector.name}", "busy")
            code, text = await _captured(words, environ)
    except OSError as error:
        home.report(f"{command.name}: cannot run {words[0]}: {error.strerror}", "bad")
        return
    except TimeoutError:
        home.report(f"{command.name}: ended after {TIME_LIMIT:g} s without a result", "bad")
        return
    done = f"{command.name}: exit code {code}" if code else f"{command.name}: done"
    home.report(done, "bad" if code else "good")
    if text.strip():
        home.app.push_screen(reading.Reading(f"{command.name} {connector.name}", lambda width: reading.plain(text)))


def _in_terminal(home: HomeBase, words: list[str], environ: dict[str, str]) -> int:
    """The exit code of a program that uses the terminal, while the console waits."""
    with home.app.suspend():
        return subprocess.run(words, env=environ, check=False).returncode


async def _captured(words: list[str], environ: dict[str, str]) -> tuple[int, str]:
    """The exit code and the output of a program."""
    process = await asyncio.create_subprocess_exec(
        *words, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(TIME_LIMIT):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    return process.returncode or 0, output.decode("utf-8", "replace")
