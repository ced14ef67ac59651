"""The way from the main screen to what is beside one cluster: all clusters, another context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.errors import HeadraceError, UsageError, error_line
from tui.screens.base import program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tui.cluster.cluster_overview import ClusterSummary
    from tui.contexts.profiles import InvalidContext, Profile
    from tui.screens.clusters.loggers import Wish
    from tui.screens.clusters.workers import WorkersScreen
    from tui.screens.home.screen import Home


class Around:
    """Imports the screens it opens when they are opened."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._root: dict[str, str] = {}

    async def clusters(self) -> None:
        from tui.screens.clusters.clusters import ClustersScreen

        profiles, wrong = self._profiles()
        screen = ClustersScreen(profiles, self.home.profile, wrong)
        screen.current = self.glance()
        wanted = await self.home.app.push_screen_wait(screen)
        if wanted is not None:
            await program.of(self.home).go_to(wanted)

    async def workers(self) -> None:
        from tui.screens.clusters.workers import WorkersScreen

        if self.home.flows is None:
            return
        screen = WorkersScreen(self.home.profile.label, self.home.flows.cluster.connect, self._words)
        self._tell_workers(screen)
        worker = await self.home.app.push_screen_wait(screen)
        if worker is not None:
            self.home.set_filter(f"worker:{worker}")
            self.home.action_back_to_list()

    def _tell_workers(self, screen: WorkersScreen) -> None:
        from tui.screens.clusters.workers import loads

        screen.tell(loads(self.home.snapshot.connectors.values()), stale=self.home.is_stale)

    async def loggers(self) -> None:
        from tui.screens.clusters.loggers import LoggersScreen

        if self.home.flows is not None:
            connect = self.home.flows.cluster.connect
            refusal = self.home.refusal("setting a level")
            screen = LoggersScreen(self.home.profile.label, connect, self.set_level, refusal)
            await self.home.app.push_screen_wait(screen)

    async def set_level(self, wish: Wish) -> bool:
        """As a tracked operation; True when the worker took it."""
        from tui.screens.clusters.loggers import LoggersScreen

        assert self.home.flows is not None
        operation = await self.home.flows.work.set_level(wish.logger, wish.level, wish.scope)
        if isinstance(screen := self.home.app.screen, LoggersScreen):
            screen.say(f"{operation.title}: {operation.last}", "bad" if operation.phase.is_bad else "good")
        return not operation.phase.is_bad

    @property
    def _words(self) -> str:
        """`Apache 4.3.0`."""
        return f"{self._root.get('kind', '')} {self._root.get('version', '')}".strip()

    @property
    def is_ours(self) -> bool:
        return self._root.get("kind") == "Headrace"

    def _profiles(self) -> tuple[list[Profile], Mapping[str, InvalidContext]]:
        """Every context, and clusters given by their URL; a file that cannot be read is said, and no more."""
        from tui import session
        from tui.contexts.profiles import Contexts

        known = [home.profile for home in program.of(self.home).homes.values()]
        try:
            contexts = session.profiles().load()
        except HeadraceError as error:
            self.home.say(error_line(error), "bad")
            contexts = Contexts()
        labels = {profile.label for profile in known}
        return [*known, *(one for one in contexts.profiles.values() if one.label not in labels)], contexts.wrong

    def labels(self) -> list[str]:
        return [profile.name for profile in self._profiles()[0] if profile.name]

    def glance(self) -> ClusterSummary:
        """This cluster, as the store sees it."""
        from tui.cluster.cluster_overview import ClusterSummary, counted_states

        home = self.home
        counts = counted_states(home.snapshot.connectors.values())
        link = home.flows.cluster.store.snapshot.link if home.flows is not None else home.snapshot.link
        return ClusterSummary(home.profile, link, counts=counts, **self._root)

    async def read_root(self) -> str:
        """The version of the worker, which may be another one after each silence; the title can do without."""
        from tui.cluster.cluster_overview import about

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
            from tui.screens.clusters.clusters import ClustersScreen
            from tui.screens.clusters.workers import WorkersScreen

            if isinstance(screen, ClustersScreen):
                screen.tell(self.glance())
            elif isinstance(screen, WorkersScreen):
                self._tell_workers(screen)

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
        from tui import session
        from tui.commands.contexts import UseContext

        assert isinstance(command, UseContext) and self.home.flows is not None
        if await self.home.flows.work.run(command, line) is not None:
            await program.of(self.home).go_to(session.profiles().get(command.name))
            program.of(self.home).home.say(f"{command.name} is the current context", "good")
