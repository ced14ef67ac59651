"""Which keys of the main screen work now, and which of them the footer shows."""

from __future__ import annotations

from collections.abc import Callable

from tui.client.versions import ALTER_OFFSETS
from tui.screens.home.base import HomeBase
from tui.screens.services.host import GONE

DEAD_LETTERS = "errors.deadletterqueue.topic.name"
CHANGES = (
    "edit",
    "undo",
    "mark",
    "bulk",
    "apply",
    "forget",
    "set_by_time",
    "create",
    "restart_task",
)  # actions that only lead to changes
FOR_CONNECTORS = (
    "act",
    "edit",
    "promote",
    "own_commands",
    "page",
    "trace",
    "dead_letters",
    "failing_record",
)  # actions for the connector under the cursor
WHY_NOT = {
    "trace": "nothing of this connector has failed",
    "failure": "nothing has failed",
    "failures": "nothing has failed",
    "dead_letters": f"the connector has no {DEAD_LETTERS}",
    "failing_record": "only for a sink that is FAILED",
    "undo": "works on the page of a connector",
    "turn": "works on the page of a connector",
    "again": "works in the list after a bulk action",
    "views": "works in the list",
    "mark": "works on a connector of the list",
    "mark_all": "works on connectors of the list",
    "bulk": "works on connectors of the list",
}


class KeyEnablement:
    """Asked by the footer, by the help, and for each key. `is_typing` tells whether the prompt is open."""

    def __init__(self, home: HomeBase, is_typing: Callable[[], bool]) -> None:
        self.home, self._is_typing = home, is_typing

    def allows(self, action: str) -> bool:
        """Whether the key works now; if not, the footer does not show it either."""
        if action in ("quit", "interrupt"):
            return True
        if self.home.services is None or self._is_typing():
            return False
        return bool(self._has_use(action))

    def _has_use(self, action: str) -> object:
        home = self.home
        if action in ("act", "promote") and home.marks:
            return True
        if action == "dead_letters":
            return (connector := home.target()) and DEAD_LETTERS in connector.config
        if action == "failing_record":
            return (connector := home.target()) and connector.type == "sink" and connector.overall == "FAILED"
        if action in ("act", "edit", "promote", "own_commands"):
            return home.target()
        if action == "views":
            return home.connector_list.has_focus
        if action == "again":
            return home.connector_list.has_focus and home.last_targets
        if action in ("mark", "mark_all", "bulk"):
            return home.connector_list.has_focus and home.connector_list.keys
        if action == "trace":
            return (connector := home.target()) and connector.traces
        if action in ("failure", "failures"):
            return home.connector_list.rows.counts["FAILED"]
        if action in ("undo", "turn"):
            return home.is_detail
        if action == "page":
            return home.is_detail or home.target()
        if action == "switch":
            return home.is_detail and home.is_broad
        if action == "back":
            return home.is_detail or home.filter_text or home.marks
        if action == "open":
            return home.connector_list.has_focus and home.connector_list.current is not None
        return True

    def why_not(self, action: str) -> str:
        """The reason why a key that is not allowed does not work; empty if there is none to give."""
        name = action.partition("(")[0]
        if name in FOR_CONNECTORS and not self.home.target():
            return GONE if self.home.is_on_page else "no connector is selected"
        return WHY_NOT.get(name, "")

    def is_foremost(self, action: str) -> bool:
        """Whether the footer shows the key first: changes of offsets, where offsets are shown, and the way back for a
        deleted connector."""
        home = self.home
        if not home.is_on_page:
            return False
        if action == "deleted":
            return home.view.connector is None
        return action in ("edit", "undo") and home.view.page == "offsets"

    def unavailable(self, action: str) -> str:
        """The reason why the worker's version of Connect cannot do it; empty if it can. The footer greys the key, which
        responds with the reason."""
        services = self.home.services
        if services is None:
            return ""
        if action in ("edit", "undo", "set_by_time"):
            return services.missing(ALTER_OFFSETS)
        if not action.startswith("act("):
            return ""
        from tui.screens.operations.actions import ACTIONS

        return ACTIONS[action[5:-2]].lacking(services.missing)

    def is_idle(self, action: str) -> bool:
        """Whether the key works but has no effect on this connector: hidden in the footer, responded with the
        reason."""
        home = self.home
        if home.profile.read_only and (action.startswith("act(") or action in CHANGES):
            return True
        if action.startswith("act(") and home.services is not None:
            if home.marks and not home.is_on_page:
                return False
            from tui.screens.operations.actions import ACTIONS

            connector = home.target()
            return connector is None or bool(ACTIONS[action[5:-2]].needs(connector))
        if action == "restart_task":
            return self.is_idle("act('restart')")
        if action == "failing_record":  # rarely needed: only the help shows it
            return True
        if action == "failures":  # in the footer where there are several
            return home.is_on_page or home.connector_list.rows.counts["FAILED"] < 2
        if action == "trace":
            return home.is_detail and home.view.page == "trace"
        if action == "create":  # in the footer only where it is the next step
            return home.is_on_page or bool(home.snapshot.connectors)
        return action == "filter" and home.is_detail and not home.is_broad
