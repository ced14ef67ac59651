"""The connection of the screens to one cluster: transport, client, store, and the context of commands."""

from __future__ import annotations

import time
from collections.abc import Callable

from tui import session
from tui.appearance.appearance import problems
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.cluster.store import ClusterStore
from tui.commands.context import CommandContext
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.wire.evented import loads
from tui.wire.wrapper import ObservedTransport


class ClusterConnection:
    """Open as long as the main screen of the cluster exists. Raises UsageError for an invalid address."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.clock: Callable[[], float] = time.monotonic  # limits retries and waiting times of commands
        transport = session.evented(profile)
        self.store = ClusterStore(
            session.connect(profile, transport), transport.lines, clock=time.monotonic, loads=loads
        )
        self.transport = ObservedTransport(transport, self.store.mark_contact)
        self.connect = session.connect(profile, self.transport)

    def recording_client(self, on_call: Callable[[ApiCall], None], on_notice: Callable[[str], None]) -> Connect:
        """A client on the same connection that reports each call before it is sent, and each retry."""
        permit = policy.guard(self.profile)

        def guard(call: ApiCall) -> None:
            permit(call)
            on_call(call)

        return Connect(self.transport, guard, on_notice)

    def context(self, connect: Connect, report: Callable[[str], None]) -> CommandContext:
        """The context in which a command runs; `report` receives its progress texts."""
        return session.screen_context(connect, self.profile, session.profiles(), report, self.clock, problems)

    async def close(self) -> None:
        await self.connect.close()
