"""State of the main screen that its parts share: snapshot, filter, marks, status line, the connector a key acts on."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.screen import Screen

from tui.cluster.snapshot import LinkState, Snapshot
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, error_line
from tui.model import Connector
from tui.screens.base.key_catching import ReportsKeys
from tui.screens.home.keys import BROAD
from tui.screens.listing.connector_list import ConnectorList
from tui.screens.listing.filtering import note_about
from tui.screens.listing.marks import Marks
from tui.screens.services.host import LINK, NO_RESPONSE, REFUSAL
from tui.screens.services.operations import Operations
from tui.widgets.bars import Counters, ListCounts, StatusBar, TitleBar

if TYPE_CHECKING:
    from textual.timer import Timer

    from tui.metrics.progress import ProgressMonitor
    from tui.screens.connector.connector import ConnectorView
    from tui.screens.services.broker_lag import BrokerLag
    from tui.screens.services.cluster_services import ClusterServices

FOLLOW_DELAY = 0.12  # seconds: longer than between repeated keys, so that the cursor never waits for the page


class StatusText(NamedTuple):
    """Text of the status line. `subject` is the connector that a notice concerns, LINK or REFUSAL; empty for any
    other response to a key."""

    text: str = ""
    kind: str = ""
    at: float = 0.0
    subject: str = ""


class HomeBase(Screen[None], ReportsKeys):
    """The base of the main screen. Does not know the collaborators that use it: `screen.Home` creates them."""

    operations: Operations

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.snapshot = Snapshot()
        self.filter_text = ""
        self._filter_note = ""
        self.marks = Marks()
        self.last_targets: list[str] = []  # of the last bulk action
        self.services: ClusterServices | None = None  # set once the screen has been painted for the first time
        self.progress: ProgressMonitor | None = None
        self.broker_lag: BrokerLag | None = None  # only if the context names brokers
        self.notices: dict[str, list[str]] = {}  # reports of the worker by connector, the newest last
        self._view: ConnectorView | None = None
        self._pane_closed = False  # by the user; otherwise the page is beside the list where there is room
        self._following: Timer | None = None  # until the page beside the list shows the connector under the cursor
        self.status = StatusText()
        self._refused_for = ""  # the connector for which a key was refused last
        self._bindings_state: tuple[object, ...] = ()

    @property
    def connector_list(self) -> ConnectorList:
        return self.query_one(ConnectorList)

    @property
    def view(self) -> ConnectorView:
        """The connector's page; exists as soon as `services` is set."""
        assert self._view is not None
        return self._view

    @property
    def is_stale(self) -> bool:
        """Whether the cluster has stopped responding."""
        return self.snapshot.link.state is LinkState.LOST

    @property
    def is_detail(self) -> bool:
        """Whether the page of a connector is open."""
        return self.has_class("-detail")

    @property
    def is_broad(self) -> bool:
        """Whether there is room for the list and the page side by side."""
        return self.has_class("-broad")

    @property
    def is_on_page(self) -> bool:
        """Whether keys act on the connector of the page, not on the list."""
        return self.is_detail and not self.connector_list.has_focus

    def nudge(self) -> None:
        """A key was pressed: an unreachable cluster is tried again soon."""
        if self.services is not None:
            self.services.connection.store.nudge()

    def target(self) -> Connector | None:
        """The connector that a key acts on: that of the page, or the one under the cursor."""
        name = self.view.name_shown if self.is_on_page else self.connector_list.current
        return self.snapshot_of(name) if name is not None else None

    def snapshot_of(self, name: str) -> Connector | None:
        return self.snapshot.connectors.get(name)

    def is_refused(self, action: str) -> bool:
        """Whether the context forbids changes; if so, shows the reason."""
        if refusal := self.refusal(action):
            self.report(refusal, "bad", REFUSAL)
        return bool(refusal)

    def refusal(self, action: str) -> str:
        """The reason why the context forbids this change; empty if it does not."""
        from tui.contexts import policy

        return policy.refusal(self.profile, action)

    def may_send(self, change: bool) -> bool:
        """Whether requests can be sent: reads always, changes while the cluster responds. Shows the reason if not."""
        if change and self.is_stale:
            self.report(NO_RESPONSE, "warn", LINK)
            return False
        return True

    # The status line

    def report(self, text: str, kind: str = "info", subject: str = "") -> None:
        """Shows a text in the status line. `kind` is info, good, warn, bad or busy; `subject` as in StatusText."""
        self.status = StatusText(text, kind if text else "", time.monotonic(), subject)
        if subject == REFUSAL:
            self._refused_for = target.name if (target := self.target()) else ""
        self.query_one(StatusBar).report(text, kind)

    def clear_report(self, text: str) -> None:
        """Clears this text if the status line still shows it."""
        if text and self.status.text == text:
            self.report("")

    def leave(self) -> None:
        """Clears the refusal of a key or command when the page on which it was given is left."""
        self._refused_for = ""
        if self.status.subject == REFUSAL:
            self.report("")

    def settle(self) -> None:
        """Shows the text of a finished operation without its progress mark."""
        if self.status.kind == "busy":
            self.report(self.status.text)

    def is_elsewhere(self, name: str) -> bool:
        """Whether the page of another connector is open, so that only the list shows changes of this connector."""
        return self.is_detail and self.view.name_shown != name

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")
        if self.is_detail and not self.is_broad and self.connector_list.has_focus:
            self.remove_class("-detail")  # the list alone
        self.open_pane()
        self.refresh_bindings()

    def open_pane(self) -> None:
        """Shows the page beside the list where there is room, unless the user has closed it; the list has the focus."""
        name = self.connector_list.current
        if self.is_broad and not self.is_detail and not self._pane_closed and self._view is not None and name:
            self.add_class("-detail")
            self.show(name)
            self.view.turn(self._page_for(name))

    def follow(self, name: str) -> None:
        """Shows a connector in the page beside the list as soon as the cursor rests on it."""
        if self._following is not None:
            self._following.stop()
        self._following = self.set_timer(FOLLOW_DELAY, self.follow_now)

    def follow_now(self) -> None:
        """Shows the connector under the cursor at once, before the page gets the focus."""
        if self._following is not None:
            self._following.stop()
            self._following = None
        if self.is_detail and self.connector_list.has_focus and (name := self.connector_list.current) is not None:
            self.show(name)

    # List and page

    def draw(self, *, follow: bool = False) -> None:
        """Draws everything that depends on the snapshot. With `follow` the cursor stays on its connector."""
        if not self.is_mounted:
            return
        link = self.snapshot.link
        self.connector_list.set_stale(self.is_stale)
        self.connector_list.update_rows(self.snapshot, self.filter_text, follow=follow)
        self.query_one(TitleBar).set_link(link, time.monotonic())
        self.count()
        self.open_pane()
        if self._view is not None and self._view.name_shown is not None:
            self.show(self._view.name_shown)
        self._refresh_changed_bindings()

    def _refresh_changed_bindings(self) -> None:
        """Draws the footer only if its keys may have changed: most snapshots of a busy cluster change none."""
        grid, failed = self.connector_list, self.connector_list.rows.counts["FAILED"] > 0
        state = (self.target(), failed, grid.current, bool(grid.keys), bool(self.filter_text), bool(self.marks))
        if state != self._bindings_state:
            self._bindings_state = state
            self.refresh_bindings()

    def count(self) -> None:
        """Draws the counters above the list."""
        shown = ListCounts(self.filter_text, len(self.connector_list.keys), len(self.marks))
        self.query_one(Counters).set_counts(self.connector_list.rows.counts, self.snapshot.link, shown)

    def clear_marks(self) -> None:
        self.marks.clear()
        self.draw_marks()

    def draw_marks(self) -> None:
        """Draws everything that depends on the marks."""
        self.connector_list.refresh_changed()
        self.count()
        self.refresh_bindings()

    def show(self, name: str) -> None:
        """Shows a connector on the page, without opening the page."""
        if self.is_detail and self.status.subject not in ("", LINK, REFUSAL, name):
            self.report("")
        if name not in (self.view.name_shown, self._refused_for):
            self.leave()
        self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    def open(self, name: str, page: str = "") -> None:
        """Opens the connector's page; without `page`, the tab that was open last."""
        self._pane_closed = False
        self.leave()
        self.add_class("-detail")
        self.show(name)
        self.view.turn(page or self._page_for(name))
        self.view.take_focus()
        self.refresh_bindings()

    def _page_for(self, name: str) -> str:
        """The tab that was open last, unless it is an empty trace."""
        connector = self.snapshot_of(name)
        return "overview" if self.view.page == "trace" and not (connector and connector.traces) else self.view.page

    def back_to_list(self) -> None:
        """Focuses the list, and closes the page unless both fit."""
        self.leave()
        if not self.is_broad:
            self.remove_class("-detail")
        self.set_focus(self.connector_list)  # at once: the next key may already be waiting
        self.refresh_bindings()

    def set_filter(self, text: str) -> None:
        self.clear_report(self._filter_note)
        self._filter_note = ""
        self.filter_text = text
        self.draw(follow=True)

    def filter_by(self, text: str) -> None:
        """Sets a complete filter; reports a term that is not understood, or a value that no connector has."""
        self.set_filter(text)
        self._filter_note, kind = note_about(text, self.snapshot.connectors.values())
        if self._filter_note:
            self.report(self._filter_note, kind)

    async def read_version(self) -> None:
        """Reads the worker's version and shows it in the title."""
        if self.services is not None and (version := await self.services.read_root()):
            self.query_one(TitleBar).set_link(self.snapshot.link, time.monotonic(), version)

    # In the background

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs the coroutine as a Textual worker; errors are shown in the status line."""
        self.run_worker(self._harmless(coroutine), exit_on_error=False)

    async def _harmless(self, coroutine: Coroutine[Any, Any, None]) -> None:
        with self.guarded():
            await coroutine

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Shows errors raised inside in the status line."""
        try:
            yield
        except Exception as error:  # a command must not end the screen
            if not isinstance(error, HeadraceError):
                self.log.error(error)
            self.report(error_line(error), "bad")
