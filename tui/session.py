"""The wiring shared by scripts and the screen: the choice of cluster, transports, clients and command contexts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.contexts.secrets import resolve, resolved
from tui.contexts.urls import check_url
from tui.errors import UsageError
from tui.scrubbing import without_user
from tui.user_files import read_text
from tui.user_folders import config_folder, state_folder
from tui.wire.endpoint import CONNECT_TIMEOUT, RESPONSE_TIMEOUT, Endpoint

if TYPE_CHECKING:
    from tui.client.calls import Transport
    from tui.client.client import Connect
    from tui.commands.context import CommandContext


def profiles(environ: Mapping[str, str] = os.environ) -> ContextsFile:
    """The user's contexts file."""
    return ContextsFile(config_folder(environ) / "contexts.toml")


def choose(url: str, name: str, known: ContextsFile, environ: Mapping[str, str] = os.environ) -> Profile | None:
    """The profile given by the command line, HEADRACE_URL or HEADRACE_CONTEXT, or the current context; None for the
    embedded cluster. Raises UsageError."""
    if url and name:
        raise UsageError("give a URL or --context, not both")
    if not url and not name:
        url, name = environ.get("HEADRACE_URL", ""), environ.get("HEADRACE_CONTEXT", "")
        if url and name and (same := known.load().profiles.get(name)) and without_user(same.url) == url:
            url = ""  # own commands of the console get both; the context has the credentials, and may be read-only
    if url:
        check_url(url)
        return Profile(url)
    name = name or known.load().current
    return known.get(name) if name else None


def replayed(path: str) -> Profile:
    """A recording as a read-only cluster. Raises UsageError if the file is not a recording."""
    from tui.wire.recording import recorded_url

    return Profile(recorded_url(path), f"replay of {Path(path).name}", read_only=True, replay=path)


def endpoint(profile: Profile, url: str = "") -> Endpoint:
    """The connection settings for a worker, by default the first, with secrets resolved."""
    check_url(url := url or profile.url)
    return Endpoint(
        url,
        profile.username,
        resolve(profile.password),
        _file(profile.ca),
        profile.connect_timeout or CONNECT_TIMEOUT,
        profile.timeout or RESPONSE_TIMEOUT,
        token=resolve(profile.token),
        certificate=_file(profile.certificate),
        key=_file(profile.key),
        key_password=resolve(profile.key_password),
        headers=tuple(resolved(profile.headers).items()),
        proxy=resolve(profile.proxy),
    )


def _file(path: str) -> str:
    return str(Path(path).expanduser()) if path else ""


def endpoints(profile: Profile) -> list[Endpoint]:
    """The endpoints of the context's workers, in the order in which they are tried."""
    return [endpoint(profile, url) for url in (profile.url, *profile.others)]


def blocking(profile: Profile) -> Transport:
    """The transport for scripts."""
    from tui.wire.blocking import BlockingTransport

    transports = [BlockingTransport(endpoint) for endpoint in endpoints(profile)]
    if len(transports) == 1:
        return transports[0]
    from tui.wire.failover import FailoverTransport

    return FailoverTransport(transports)


def audited(
    transport: Transport, profile: Profile, door: str, report: Callable[[str], None] | None = None
) -> Transport:
    """The transport with an audit log of changes; a read-only profile needs none. `door` is `screen` or `script`."""
    if profile.read_only:
        return transport
    from tui.wire.audit import AuditedTransport

    def keep(*change: Any) -> None:
        from tui.config.history_files import ConfigHistoryFiles

        ConfigHistoryFiles(state_folder(os.environ), profile.label).add(*change)

    return AuditedTransport(transport, profile.label, door, report, keep)


def evented(profile: Profile) -> Transport:
    """The transport for the screen: to the cluster, optionally recorded, or to a recording."""
    from tui.wire.recording import RecordingTransport, ReplayTransport

    if profile.replay:
        return ReplayTransport(profile.replay)
    from tui.wire.evented import AsyncTransport
    from tui.wire.failover import FailoverTransport

    workers = [AsyncTransport(endpoint) for endpoint in endpoints(profile)]
    transport: Transport = workers[0] if len(workers) == 1 else FailoverTransport(workers)
    transport = audited(transport, profile, "screen")
    return RecordingTransport(transport, profile.record) if profile.record else transport


def connect(profile: Profile, transport: Transport) -> Connect:
    """A client that refuses what the profile forbids."""
    from tui.client.client import Connect
    from tui.contexts import policy

    return Connect(transport, policy.guard(profile))


def screen_context(
    cluster: Connect,
    profile: Profile,
    known: ContextsFile,
    report: Callable[[str], None],
    clock: Callable[[], float],
    settings_problems: Callable[[Path], list[str]],
) -> CommandContext:
    """The context of commands run by the screen, which asks for confirmation itself."""

    def read(path: str) -> str:
        if path == "-":
            raise UsageError("standard input is not available on the screen: use @FILE")
        return read_text(path)

    from tui.commands.context import CommandCluster, CommandContext, CommandFiles, CommandTerminal

    return CommandContext(
        CommandCluster(
            lambda: cluster, lambda: profile, known, connect_other=lambda other: connect(other, evented(other))
        ),
        CommandFiles(read, settings_problems),
        CommandTerminal(report, screen_profile=profile.name),
        clock,
    )
