"""The main screen's parts and what is known of them: who is on the screen, whom a key means, what is said."""

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
from tui.screens.home.connector_list import Board
from tui.screens.home.keys import BROAD
from tui.widgets.bars import Counters, ListCounts, StatusBar, TitleBar

if TYPE_CHECKING:
    from tui.screens.connector.connector import ConnectorView
    from tui.screens.home.controller import Flows
    from tui.screens.home.many import Many


AWAY = "the cluster does not answer: nothing is sent until it is back"
LINK = "\0link"  # what is said of the link to the cluster: no connector's name


class Said(NamedTuple):
    """The status line's text. `about` is the connector that news are of, or LINK; empty for an answer to a key."""

    text: str = ""
    kind: str = ""
    at: float = 0.0
    about: str = ""


class Pieces(Screen[None]):
    """What every part of the main screen may ask for."""

    many: Many

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        self.snapshot = Snapshot()
        self.filter_text = ""
        self.flows: Flows | None = None
        self._view: ConnectorView | None = None
        self.said = Said()
        self._sensed: tuple[object, ...] = ()

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    @property
    def view(self) -> ConnectorView:
        """There from the moment the cluster is."""
        assert self._view is not None
        return self._view

    @property
    def is_stale(self) -> bool:
        return self.snapshot.link.state is LinkState.LOST

    @property
    def is_detail(self) -> bool:
        return self.has_class("-detail")

    @property
    def is_broad(self) -> bool:
        return self.has_class("-broad")

    @property
    def is_on_page(self) -> bool:
        """Whether keys mean the connector of the page, not the list."""
        return self.is_detail and not self.board.has_focus

    def target(self) -> Connector | None:
        """What a key acts on: the connector of the page, or the one under the cursor."""
        name = self.view.name_shown if self.is_on_page else self.board.current
        return self.snapshot_of(name) if name is not None else None

    def snapshot_of(self, name: str) -> Connector | None:
        return self.snapshot.connectors.get(name)

    def is_refused(self, what: str) -> bool:
        """Says so where the context forbids changes; nothing is asked first."""
        if refusal := self.refusal(what):
            self.say(refusal, "bad")
        return bool(refusal)

    def refusal(self, what: str) -> str:
        """Empty where the context allows changes."""
        from tui.contexts import policy

        return policy.refusal(self.profile, what)

    def say(self, text: str, kind: str = "info", about: str = "") -> None:
        self.said = Said(text, kind if text else "", time.time(), about)
        self.query_one(StatusBar).say(text, kind)

    def settle(self) -> None:
        """What was said to be under way has come to its end."""
        if self.said.kind == "busy":
            self.say(self.said.text)

    def is_elsewhere(self, name: str) -> bool:
        """Whether another connector's page is on the screen: the list alone tells of this one."""
        return self.is_detail and self.view.name_shown != name

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")
        self.refresh_bindings()

    # What is shown

    def draw(self, *, follow: bool = False) -> None:
        """Everything that depends on the snapshot."""
        if not self.is_mounted:
            return
        link = self.snapshot.link
        self.board.set_stale(self.is_stale)
        self.board.update_rows(self.snapshot, self.filter_text, follow=follow)
        self.query_one(TitleBar).tell(link, time.time())
        self.count()
        if self._view is not None and self._view.name_shown is not None:
            self.show(self._view.name_shown)
        self._sense_keys()

    def _sense_keys(self) -> None:
        """The footer, where what its keys depend on is another: a busy cluster's next look is mostly not."""
        board, failed = self.board, self.board.rows.counts["FAILED"] > 0
        sensed = (self.target(), failed, board.current, bool(board.keys), bool(self.filter_text), bool(self.many.marks))
        if sensed != self._sensed:
            self._sensed = sensed
            self.refresh_bindings()

    def count(self) -> None:
        """The line above the list."""
        shown = ListCounts(self.filter_text, len(self.board.keys), len(self.many.marks))
        self.query_one(Counters).tell(self.board.rows.counts, self.snapshot.link, shown)

    def show(self, name: str) -> None:
        if self.is_detail and self.said.about not in ("", LINK, name):
            self.say("")
        self.view.show(name, self.snapshot.connectors.get(name), self.is_stale)

    # In the background

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs it as a worker that cannot end the program."""
        self.run_worker(self._harmless(coroutine), exit_on_error=False)

    async def _harmless(self, coroutine: Coroutine[Any, Any, None]) -> None:
        with self.guarded():
            await coroutine

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Errors inside are shown in the status line and end nothing else."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, HeadraceError):
                self.log.error(error)
            self.say(error_line(error), "bad")
