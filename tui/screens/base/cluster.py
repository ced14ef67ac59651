"""One cluster as the screen uses it: transport, client, store and the context of commands, behind one door."""

from __future__ import annotations

from collections.abc import Callable

from tui import session
from tui.appearance.appearance import problems
from tui.client.client import ApiCall, Connect
from tui.cluster.store import ClusterStore
from tui.commands.base import CommandContext
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.wire.observed import ObservedTransport


class Cluster:
    """Open for as long as the screen is; raises UsageError for an address that cannot be one."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        transport = session.evented(profile)
        self.store = ClusterStore(session.connect(profile, transport), transport.lines)
        self.transport = ObservedTransport(transport, self.store.heard)
        self.connect = session.connect(profile, self.transport)

    def overheard(self, hear: Callable[[ApiCall], None], notice: Callable[[str], None]) -> Connect:
        """A client on the same connection that tells of each call it makes and each try again."""
        permit = policy.guard(self.profile)

        def guard(call: ApiCall) -> None:
            permit(call)
            hear(call)

        return Connect(self.transport, guard, notice)

    def context(self, connect: Connect, narrate: Callable[[str], None]) -> CommandContext:
        context = session.screen_context(connect, self.profile, session.profiles(), narrate)
        context.settings_problems = problems
        return context

    async def close(self) -> None:
        await self.connect.close()
