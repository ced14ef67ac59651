"""The command palette (^P): keys, commands and themes, found by typing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tui.commands.registry import commands
from tui.screens.home import Home


class Entry(NamedTuple):
    title: str
    help: str
    run: Callable[[], object]


class PaletteEntries(Provider):
    """Entries for the main screen."""

    def entries(self) -> Iterator[Entry]:
        home = next((screen for screen in reversed(self.app.screen_stack) if isinstance(screen, Home)), None)
        if home is None:
            return
        seen = set()
        for active in home.active_bindings.values():
            binding = active.binding
            if binding.id and binding.action not in seen and active.enabled:
                seen.add(binding.action)
                yield Entry(
                    binding.description, f"key {self.app.get_key_display(binding)}", _runner(home, binding.action)
                )
        for command in commands():
            yield Entry(f":{command.verb}", command.summary(), _opener(home, command.verb))
        for name in self.app.available_themes:
            if name.startswith("headrace") or name in getattr(self.app, "themes_of_user", ()):
                yield Entry(f"theme {name}", "change the colours", _painter(self, name))

    async def discover(self) -> Hits:
        for entry in self.entries():
            yield DiscoveryHit(entry.title, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for entry in self.entries():
            score = matcher.match(entry.title)
            if score > 0:
                yield Hit(score, matcher.highlight(entry.title), entry.run, help=entry.help)


def _runner(home: Home, action: str) -> Callable[[], object]:
    return lambda: home.call_later(home.run_action, action)


def _opener(home: Home, verb: str) -> Callable[[], object]:
    return lambda: home.call_later(home.action_command, f"{verb} ")


def _painter(provider: Provider, name: str) -> Callable[[], object]:
    return lambda: setattr(provider.app, "theme", name)
