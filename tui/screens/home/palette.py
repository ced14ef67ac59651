"""The entries of the palette: keys, pages, connectors, topics, contexts, orders, commands and themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from textual.binding import Binding

from tui.commands.registry import commands
from tui.screens.base.navigation import ChooseTheme, OpenCluster
from tui.screens.connector.pages import PAGES
from tui.screens.dead_letters.dead_letters import why_none
from tui.screens.home.keys import KEYS
from tui.screens.home.screen import Home
from tui.screens.listing.ordering import ORDERS
from tui.screens.palette.matching import PaletteEntry
from tui.topics.usage import named_topics

# Further words for a key or page, by its action or name.
MEANINGS = {
    "dead_letters": "dlq dead letter queue failed records errors poison replay",
    "trace": "error exception stack why cause failure",
    "failure": "failed error broken",
    "filter": "search find grep",
    "create": "new add connector install wizard",
    "sort": "order by lag throughput name failures",
    "act('stop')": "halt end shut down",
    "act('pause')": "suspend hold freeze",
    "act('resume')": "start continue run unpause",
    "act('restart')": "bounce reboot retry failed tasks",
    "act('delete')": "remove drop destroy",
    "mark": "select choose",
    "bulk": "many all several batch",
    "edit": "offset position seek rewind reset skip replay change",
    "undo": "revert rollback offset back",
    "diff": "compare difference drift contexts clusters staging prod environments",
    "promote": "copy migrate deploy move another context cluster staging prod environment",
    "deleted": "deleted connectors undelete restore recover removed trash recreate",
    "plugins": "class jar converter transformation predicate",
    "log": "operations history requests what did I do",
    "clusters": "contexts environments switch prod",
    "workers": "nodes group rebalance drain cordon slots load",
    "loggers": "log level debug verbosity",
    "command": "line script run",
    "help": "keys manual documentation",
    "quit": "exit leave close",
    "overview": "status summary state",
    "tasks": "threads workers state",
    "config": "settings properties keys edit change",
    "offsets": "position seek rewind reset history undo",
    "topics": "records reads writes",
    "events": "changes timeline history",
    "metrics": "lag throughput rate plot chart speed",
}
LEFT_OUT = ("open", "back", "turn", "page", "switch", "interrupt")  # only useful as keys


def entries(home: Home) -> Iterator[PaletteEntry]:
    """All entries for the state of the main screen, in the order in which they are shown without a query."""
    yield from _keys(home)
    yield PaletteEntry(
        "copy or export",
        "key ^y",
        "a cell, the row, the table, the text or the screen",
        _runner(home, "app.copy_menu"),
        "clipboard tsv json file save osc 52",
    )
    yield from _pages(home)
    yield from _contexts(home)
    yield from _connectors(home)
    yield from _topics(home)
    for name, order in ORDERS.items():
        yield PaletteEntry(f"sort by {name}", "order", order.first, partial(home.run_line, f"sort {name}"))
    for command in commands():
        yield PaletteEntry(
            f":{command.verb}", "command", command.summary(), partial(home.action_command, f"{command.verb} ")
        )
    for name in home.app.available_themes:
        if name.startswith("headrace") or name in getattr(home.app, "themes_of_user", ()):
            yield PaletteEntry(
                f"theme {name.removeprefix('headrace-')}",
                "theme",
                "change the colours",
                partial(home.post_message, ChooseTheme(name)),
                "colour color appearance",
            )


def _keys(home: Home) -> Iterator[PaletteEntry]:
    for binding in KEYS:
        assert isinstance(binding, Binding)
        name = binding.action.partition("(")[0]
        if name in LEFT_OUT:
            continue
        meaning = MEANINGS.get(binding.action) or MEANINGS.get(name, "")
        title = binding.description if name != "log" else "operations"
        kind = f"key {home.app.get_key_display(binding)}"
        yield PaletteEntry(
            title, kind, binding.tooltip or "", _runner(home, binding.action), meaning, _why_not(home, name)
        )


def _why_not(home: Home, action: str) -> str:
    """The reason why a key does nothing now; empty if it works."""
    if home.enablement.allows(action):
        return ""
    connector = home.target()
    if connector is None and action in ("act", "edit", "dead_letters", "promote", "trace"):
        return "no connector is selected"
    if action == "dead_letters" and connector is not None:
        return why_none(connector) or f"{connector.name} has no dead letter topic"
    if action == "trace" and connector is not None:
        return f"nothing of {connector.name} has failed"
    return {"failure": "no connector has failed", "undo": "open a connector first"}.get(action, "does not apply now")


def _runner(home: Home, action: str) -> Callable[[], object]:
    return partial(home.call_later, home.run_action, action)


def _pages(home: Home) -> Iterator[PaletteEntry]:
    if (connector := home.target()) is not None:
        for number, page in enumerate(PAGES, 1):
            yield PaletteEntry(
                f"{page} of {connector.name}",
                f"page {number}",
                "of the connector under the cursor",
                partial(home.open, connector.name, page),
                MEANINGS.get(page, ""),
            )


def _contexts(home: Home) -> Iterator[PaletteEntry]:
    for profile in home.navigation.profiles:
        if profile.label != home.profile.label:
            kind = "production, " * profile.production + "read-only, " * profile.read_only + profile.label
            yield PaletteEntry(
                profile.label,
                "context",
                f"switch to {kind}",
                partial(home.post_message, OpenCluster(profile)),
                "cluster",
            )


def _connectors(home: Home) -> Iterator[PaletteEntry]:
    for connector in home.snapshot.connectors.values():
        detail = f"{connector.overall.lower()}, {connector.type}, {connector.short_class}"
        yield PaletteEntry(connector.name, "connector", detail, partial(home.open, connector.name))


def _topics(home: Home) -> Iterator[PaletteEntry]:
    """The topics that configs name; an entry opens the topics of the first connector that names it."""
    used: dict[str, list[tuple[str, str]]] = {}
    for connector in home.snapshot.connectors.values():
        for topic, role in named_topics(connector.config).items():
            used.setdefault(topic, []).append((connector.name, role))
    for topic, places in used.items():
        name, role = places[0]
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        verb = f"{role} by" if role in ("read", "written") else f"{role} of"
        yield PaletteEntry(topic, "topic", f"{verb} {name}{more}", partial(home.open, name, "topics"))
