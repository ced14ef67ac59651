"""The way from the main screen to what is beside one cluster: all clusters, another context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import session
from tui.errors import HeadraceError, UsageError
from tui.screens import program

if TYPE_CHECKING:
    from tui.fleet import Glance
    from tui.profiles import Profile
    from tui.screens.home.screen import Home


class Around:
    """Imports the screens it opens when they are opened."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._root: dict[str, str] = {}

    async def clusters(self) -> None:
        from tui.screens.clusters import ClustersScreen

        screen = ClustersScreen(self._profiles(), self.home.profile)
        screen.current = self.glance()
        wanted = await self.home.app.push_screen_wait(screen)
        if wanted is not None:
            await program.of(self.home).go_to(wanted)

    def _profiles(self) -> list[Profile]:
        """Every context, and clusters given by their URL; a file that cannot be read is said, and no more."""
        known = [home.profile for home in program.of(self.home).homes.values()]
        try:
            contexts = list(session.profiles().load().profiles.values())
        except HeadraceError as error:
            self.home.say(" ".join(str(error).split()), "bad")
            contexts = []
        labels = {profile.label for profile in known}
        return [*known, *(profile for profile in contexts if profile.label not in labels)]

    def glance(self) -> Glance:
        """This cluster, as the store sees it."""
        from tui.fleet import Glance, counted_states

        home = self.home
        counts = counted_states(home.snapshot.connectors.values())
        link = home.flows.cluster.store.snapshot.link if home.flows is not None else home.snapshot.link
        return Glance(home.profile, link, counts=counts, **self._root)

    async def read_root(self) -> str:
        """The version of the worker, which may be another one after each silence; the title can do without."""
        from tui.fleet import about

        if self.home.flows is None:
            return ""
        try:
            self._root = about(await self.home.flows.cluster.connect.root())
        except HeadraceError:
            return ""
        return self._root["version"]

    def tick(self) -> None:
        screen = self.home.app.screen
        if len(self.home.app.screen_stack) > 1:
            from tui.screens.clusters import ClustersScreen

            if isinstance(screen, ClustersScreen):
                screen.tell(self.glance())

    def typed(self, line: str) -> bool:
        """`:use-context NAME` is for now as well as for the next start. True when that is what the line was."""
        from tui.commands.contexts import UseContext
        from tui.script.grammar import parse

        try:
            command = parse(line)
        except UsageError:
            return False  # said by whoever runs it
        if not isinstance(command, UseContext):
            return False
        self.home.do(self._use(command, line))
        return True

    async def _use(self, command: object, line: str) -> None:
        from tui.commands.contexts import UseContext

        assert isinstance(command, UseContext) and self.home.flows is not None
        if await self.home.flows.work.run(command, line) is not None:
            await program.of(self.home).go_to(session.profiles().get(command.name))
            program.of(self.home).home.say(f"{command.name} is the current context", "good")
