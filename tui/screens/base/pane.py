"""A tab of a connector's page."""

from __future__ import annotations

from typing import ClassVar

from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui.model import Connector
from tui.screens.base.dialog import Dialog
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.text import visible

REST = 0.2  # seconds between the choice of a connector and the first request for it


class Pane(Vertical):
    """Subclasses read from the cluster themselves, but only while they are visible."""

    DEFAULT_CSS = """
    Pane > .note { height: auto; max-height: 4; padding: 0 1; color: $text-muted; }
    """
    FOCUS: ClassVar[str] = ""  # selector of the widget that takes the focus
    interval = 0.0  # seconds between calls of `fetch` while the tab is visible; 0: no periodic calls

    def __init__(self, services: ClusterServices, id: str) -> None:
        super().__init__(id=id)
        self.services = services
        self.connector: Connector | None = None
        self.is_gone = False  # the connector was deleted; its last snapshot is shown
        self._fetching: Timer | None = None
        self._resting: Timer | None = None
        self._status_text, self._warned_text = "", ""

    @property
    def subject(self) -> str:
        """The edited text that warnings refer to; empty on pages without an editor."""
        return ""

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a text about this connector in the status line until the next text or `unsay`."""
        self._status_text, self._warned_text = text, self.subject if kind == "warn" else ""
        self.services.report(text, kind, self.name_shown)

    def clear_report(self) -> None:
        """Clears the last status text of this page."""
        self.services.clear_report(self._status_text)

    def clear_warning(self) -> None:
        """Clears the warning about an earlier version of the edited text, which is valid now."""
        if self._warned_text and self._warned_text != self.subject:
            self.clear_report()

    def on_mount(self) -> None:
        if self.interval:
            self.fetch_every(self.interval)

    def fetch_every(self, seconds: float) -> None:
        """Calls `fetch` at this interval while the tab is visible, instead of the previous one."""
        if self._fetching is not None:
            self._fetching.stop()
        self.interval = seconds
        self._fetching = self.set_interval(seconds, self._fetch_again)

    @property
    def name_shown(self) -> str:
        return self.connector.name if self.connector else ""

    @property
    def is_open(self) -> bool:
        """Whether the tab is displayed; another screen may cover it."""
        return all(node.display for node in self.ancestors_with_self if isinstance(node, Widget))

    @property
    def is_seen(self) -> bool:
        return self.screen.is_current and self.is_open

    def _fetch_again(self) -> None:
        if self.connector is not None and self.is_seen and not self.services.is_stale:
            self.fetch()

    def show(self, connector: Connector | None) -> None:
        """Shows another connector, or a new snapshot of the same one."""
        another = (connector.name if connector else "") != self.name_shown
        self.connector = connector
        if another:
            self.reset()
        if self.is_open:
            self.draw()
            if another and connector is not None:
                self._fetch_soon()

    def _fetch_soon(self) -> None:
        """Reads once the cursor of the list has rested, since the page beside the list follows it."""
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(REST, self._fetch_again)

    def opened(self) -> None:
        """The tab has become visible."""
        self.draw()
        if self.connector is not None:
            self.fetch()

    def recovered(self) -> None:
        """The cluster responds again after an outage, in which requests of the open tab may have failed."""
        self._fetch_again()

    def deleted(self) -> None:
        """The connector shown was deleted, so the next of the same name is another."""
        self.connector = None

    def reset(self) -> None:
        """Forgets what belongs to the connector shown before."""

    def fetch(self) -> None:
        """Reads the contents of the tab from the cluster."""

    def draw(self) -> None:
        """Draws what has been read so far."""

    async def ask(self, dialog: Dialog, instead: str) -> bool:
        """Shows the question in a worker; if it is not confirmed, reports `cancelled` and the text `instead`."""
        if await self.app.push_screen_wait(dialog):
            return True
        self.services.report(f"cancelled: {instead}")
        return False

    def dimmed(self, text: Content) -> Content:
        """The text about a deleted connector without the colours of its states, and with a heading that says so."""
        return Content.assemble(("deleted; this was its last state\n\n", "$warning"), (text.plain, "$text-muted"))

    def take_focus(self) -> None:
        self.query_one(self.FOCUS, Widget).focus()


class Note(Static):
    """One or two lines about the contents of a page; hidden when empty."""

    DEFAULT_CSS = """
    Note { height: auto; max-height: 6; padding: 0 1; display: none; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__("", id=id, markup=False)

    def report(self, text: str | Content, style: str = "$text-muted") -> None:
        content = text if isinstance(text, Content) else Content.assemble((visible(text), style))
        self.display = bool(content.plain)
        self.update(content)
