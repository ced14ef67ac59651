"""Which cluster is meant, and the context commands run in: the wiring that script and screen share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui.contexts.contexts_file import ContextsFile, config_folder
from tui.contexts.profiles import Profile
from tui.contexts.secrets import resolve, resolved
from tui.contexts.urls import check_url
from tui.errors import UsageError
from tui.wire.endpoint import ANSWER_TIMEOUT, CONNECT_TIMEOUT, Endpoint

if TYPE_CHECKING:
    from tui.client.client import Connect, Transport
    from tui.commands.base import CommandContext


def profiles(environ: Mapping[str, str] = os.environ) -> ContextsFile:
    return ContextsFile(config_folder(environ) / "contexts.toml")


def choose(url: str, name: str, known: ContextsFile, environ: Mapping[str, str] = os.environ) -> Profile | None:
    """The profile asked for: by the command line, by HEADRACE_URL or HEADRACE_CONTEXT, or the current context.
    None means that the embedded cluster is meant."""
    if url and name:
        raise UsageError("give a URL or --context, not both")
    if not url and not name:
        url, name = environ.get("HEADRACE_URL", ""), environ.get("HEADRACE_CONTEXT", "")
    if url:
        check_url(url)
        return Profile(url)
    name = name or known.load().current
    return known.get(name) if name else None


def replayed(path: str) -> Profile:
    """A recording as a cluster that only shows; raises UsageError when the file is none."""
    from tui.wire.recording import recorded_url

    return Profile(recorded_url(path), f"replay of {Path(path).name}", read_only=True, replay=path)


def endpoint(profile: Profile, url: str = "") -> Endpoint:
    """How a worker is spoken to, secrets resolved; `url` for another one than the first."""
    check_url(url := url or profile.url)
    return Endpoint(
        url,
        profile.username,
        resolve(profile.password),
        _file(profile.ca),
        profile.connect_timeout or CONNECT_TIMEOUT,
        profile.timeout or ANSWER_TIMEOUT,
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
    """One for each worker of the context, the first to ask in front."""
    return [endpoint(profile, url) for url in (profile.url, *profile.others)]


def client_properties(profile: Profile) -> dict[str, str]:
    """What a Kafka client needs for the brokers of a context, secrets resolved; empty when it names none."""
    if not profile.bootstrap:
        return {}
    return {"bootstrap.servers": profile.bootstrap, **resolved(profile.client)}


def blocking(profile: Profile) -> Transport:
    """The script door's transport."""
    from tui.wire.blocking import BlockingTransport

    transports = [BlockingTransport(one) for one in endpoints(profile)]
    if len(transports) == 1:
        return transports[0]
    from tui.wire.failover import FailoverTransport

    return FailoverTransport(transports)


def audited(transport: Transport, profile: Profile, door: str, say: Callable[[str], None] | None = None) -> Transport:
    """With each change written to the audit log of this machine; what is read-only changes nothing."""
    if profile.read_only:
        return transport
    from tui.wire.audit import AuditedTransport

    return AuditedTransport(transport, profile.label, door, say)


def evented(profile: Profile) -> Transport:
    """The screen's transport: to the cluster, to a recording, or to the cluster with a recorder between."""
    from tui.wire.recording import RecordingTransport, ReplayTransport

    if profile.replay:
        return ReplayTransport(profile.replay)
    from tui.wire.evented import AsyncTransport
    from tui.wire.failover import FailoverTransport

    workers = [AsyncTransport(one) for one in endpoints(profile)]
    transport: Transport = workers[0] if len(workers) == 1 else FailoverTransport(workers)
    transport = audited(transport, profile, "screen")
    return RecordingTransport(transport, profile.record) if profile.record else transport


def connect(profile: Profile, transport: Transport) -> Connect:
    """A client that keeps to what the profile allows."""
    from tui.client.client import Connect
    from tui.contexts import policy

    return Connect(transport, policy.guard(profile))


def screen_context(
    cluster: Connect, profile: Profile, known: ContextsFile, narrate: Callable[[str], None]
) -> CommandContext:
    """The context of commands that a screen runs: it has asked before, and its standard input is keys."""

    def read(path: str) -> str:
        if path == "-":
            raise UsageError("standard input is the keyboard here: use @FILE")
        return read_text(path)

    from tui.commands.base import CommandContext

    return CommandContext(
        lambda: cluster,
        profile=lambda: profile,
        profiles=known,
        narrate=narrate,
        read=read,
        screen_profile=profile.name,
    )


def read_text(path: str) -> str:
    try:
        return Path(path).expanduser().read_text("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
