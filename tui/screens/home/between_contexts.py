"""Opens the screens that compare contexts and promote between them, after another context is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.contexts.profiles import Profile
from tui.screens.home.base import HomeBase

if TYPE_CHECKING:
    from tui.screens.home.navigation import Navigation
    from tui.screens.services.cluster_services import ClusterServices

NO_OTHER = "no context has another cluster; add one: `:config set-context NAME URL`"


class BetweenContexts:
    """Acts on the marked connectors, or on that of the page or under the cursor."""

    def __init__(self, home: HomeBase, services: ClusterServices, navigation: Navigation) -> None:
        self.home, self.services, self._navigation = home, services, navigation

    async def diff(self) -> None:
        """Compares the whole cluster; the list shows the marked connectors, or only that of the page."""
        from tui.screens.contexts.diff_screen import DiffScreen

        home = self.home
        names = self._chosen() if home.marks or home.is_on_page else []
        connector = home.target()
        if (other := await self._choose("compare with which context?")) is not None:
            current = connector.name if connector is not None else ""
            home.app.push_screen(DiffScreen(self.services, other, names, current, self._open_promotion))

    async def promote(self) -> None:
        names = self._chosen()
        if names and (other := await self._choose(f"promote {_listed(names)} to which context?")) is not None:
            self._open_promotion(names, other)

    def _open_promotion(self, names: list[str], other: Profile) -> None:
        from tui.screens.contexts.promote_screen import PromoteScreen

        self.home.app.push_screen(PromoteScreen(self.services, other, names))

    def _chosen(self) -> list[str]:
        home = self.home
        if home.marks and not home.is_on_page:
            return [name for name in home.snapshot.connectors if name in home.marks]
        connector = home.target()
        return [connector.name] if connector is not None else []

    async def _choose(self, title: str) -> Profile | None:
        """Another context, with a question if there are several. None if there is none, which is reported, or none
        was chosen."""
        from tui.screens.contexts.context_picker import ContextPicker

        here = self.home.profile
        profiles = [profile for profile in self._navigation.profiles if profile.name]
        if here.option_read_only:
            profiles = [profile.as_read_only() for profile in profiles]
        others = [profile for profile in profiles if not profile.is_same_cluster(here)]
        if not others:
            self.home.report(NO_OTHER, "warn")
            return None
        if len(others) == 1:
            return others[0]
        return await self.home.app.push_screen_wait(ContextPicker(title, profiles, here))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} connectors"
