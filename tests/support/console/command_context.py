"""Commands as they are typed, and their context in tests: parts that a test does not name have defaults."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui.client.calls import drive
from tui.client.client import Connect
from tui.commands.base import execute
from tui.commands.context import CommandCluster, CommandContext, CommandFiles, CommandTerminal
from tui.commands.result import Result
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.script.grammar import parse


def never(profile: Profile) -> Connect:
    raise AssertionError(f"no other cluster is needed, but {profile.label} was")


def run_command(line: str, connect: Connect | None, profile: Profile | Callable[[], Profile], **parts: Any) -> Result:
    """The result of a command. `parts`: of its context, as for command_context()."""
    command = parse(line)
    assert command is not None
    return drive(execute(command, command_context(connect, profile, **parts)))


def command_context(
    connect: Connect | None,
    profile: Profile | Callable[[], Profile],
    *,
    profiles: ContextsFile | None = None,
    read: Callable[[str], str] = str,
    report: Callable[[str], None] = lambda text: None,
    confirm: Callable[[str], bool] = lambda question: True,
    clock: Callable[[], float] = time.monotonic,
    connect_other: Callable[[Profile], Connect] = never,
    screen_profile: str = "",
    plan: Any = None,
) -> CommandContext:
    """`connect` is None if the command must not connect to the cluster; without `profiles` there are no contexts."""
    return CommandContext(
        CommandCluster(
            lambda: _given(connect),
            profile if callable(profile) else lambda: profile,
            profiles or ContextsFile(Path("/nowhere/contexts.toml")),
            connect_other=connect_other,
        ),
        CommandFiles(read),
        CommandTerminal(report, confirm, screen_profile=screen_profile),
        clock,
        plan,
    )


def _given(connect: Connect | None) -> Connect:
    assert connect is not None, "no cluster is needed"
    return connect
