"""The context of commands in tests: parts that a test does not name have defaults."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tui.client.client import Connect
from tui.commands.context import CommandCluster, CommandContext, CommandFiles, CommandTerminal
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile


def never(profile: Profile) -> Connect:
    raise AssertionError(f"no other cluster is needed, but {profile.label} was")


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
    )


def _given(connect: Connect | None) -> Connect:
    assert connect is not None, "no cluster is needed"
    return connect
