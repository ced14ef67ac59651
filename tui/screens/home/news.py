"""What the main screen hears: the store's snapshots, the worker's notices, steps of operations, the clock."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from tui.cluster.snapshot import Diff, LinkState, Notice, Snapshot
from tui.formatting import one_line
from tui.screens.home.base import LINK
from tui.screens.operations.operations import Operation, Phase
from tui.widgets.bars import TitleBar

if TYPE_CHECKING:
    from tui.screens.home.screen import Home

SAID_FOR = 15.0  # seconds that good news stay; bad answers stay until the next
NEWS_STAY = 180.0  # seconds that bad news stay which nobody asked for
STEPS_GATHER = 0.05  # seconds: steps within it are drawn at once
NOTICES_KEPT = 10  # of each connector
NOTICE_KINDS = {"WARN": "warn", "WARNING": "warn", "ERROR": "bad"}
KINDS = {Phase.OBSERVED: "good", Phase.FAILED: "bad", Phase.TIMED_OUT: "warn"}


class News:
    """Each method is called on the event loop when something happened."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._drawing = False
        self.resting = False  # another cluster is on the screen

    def heard(self, snapshot: Snapshot, diff: Diff) -> None:
        home = self.home
        if home.progress is not None:
            home.progress.forget(snapshot.connectors)
        home.many.marks.forget(set(home.many.marks) - snapshot.connectors.keys())
        self._deleted(diff.removed)
        if self._is_over(snapshot):
            home.say("")
        was_away = home.snapshot.link.state in (LinkState.CONNECTING, LinkState.LOST)
        home.snapshot = snapshot
        if was_away and snapshot.link.state in (LinkState.LIVE, LinkState.POLLING):
            home.do(home.read_version())
        home.operations.observe(snapshot)
        home.draw()

    def _is_over(self, now: Snapshot) -> bool:
        """Whether what the status line tells of is not so any more."""
        about, before = self.home.said.about, self.home.snapshot
        if about == LINK:
            return now.link.state in (LinkState.LIVE, LinkState.POLLING)
        if about not in before.connectors:
            return False
        one = now.connectors.get(about)
        return one is None or (before.connectors[about].overall == "FAILED" and one.overall != "FAILED")

    def _deleted(self, names: Collection[str]) -> None:
        """Edits are kept for a connector of that name that comes back, and hold nobody up who leaves."""
        if self.home.flows is None:
            return
        edited = sorted({name for name, _ in self.home.view.unsaved() if name in names})
        if edited:
            self.home.say(f"{', '.join(edited)}: deleted; what was edited cannot be applied any more", "warn")

    def noticed(self, notice: Notice) -> None:
        """What our worker says beside states; warnings and errors are worth the status line."""
        task = "" if notice.task is None else f" task {notice.task}"
        text = f"{notice.connector}{task}: {notice.message}".removeprefix(": ")
        if notice.connector and notice.message.startswith(
            (f"{notice.connector}-{notice.task} ", f"{notice.connector} ")
        ):
            text = notice.message  # it names whom it is about
        said = self.home.notices.setdefault(notice.connector, [])
        said.append(f"{time.strftime('%H:%M:%S')} {notice.level.lower()}{task}: {notice.message}")
        del said[:-NOTICES_KEPT]
        kind = NOTICE_KINDS.get(notice.level.upper())
        if kind and not (notice.connector and self.home.is_elsewhere(notice.connector)):
            self.home.say(one_line(text), kind, notice.connector)
        if self.home.flows is not None and self.home.view.name_shown == notice.connector:
            self.home.view.draw()

    def stepped(self, operation: Operation) -> None:
        """An operation came a step further."""
        home = self.home
        kind = "warn" if operation.doubtful else KINDS.get(operation.phase, "busy")
        home.say(f"{operation.title}: {operation.last}", kind)
        home.board.refresh_changed()
        home.refresh_bindings()
        self.steps_changed()

    def steps_changed(self) -> None:
        """What shows operations is drawn anew, once for many steps."""
        if not self._drawing:
            self._drawing = True
            self.home.set_timer(STEPS_GATHER, self._draw_steps)

    def _moving(self) -> list[str]:
        """The rows on the screen whose connectors may get on."""
        there = self.home.snapshot.connectors
        return [name for name in self.home.board.on_screen if name in there and there[name].running]

    def _draw_steps(self) -> None:
        from tui.screens.operations.bulk_screen import BulkScreen
        from tui.screens.operations.log import OperationsScreen

        self._drawing = False
        for screen in self.home.app.screen_stack:
            if isinstance(screen, OperationsScreen | BulkScreen):
                screen.draw()

    def tick(self) -> None:
        """Each second: staleness, times in the list, operations that wait, offsets on the screen."""
        home = self.home
        if home.flows is None or not home.query(TitleBar):  # not there yet, or going
            return
        now, store = time.time(), home.flows.cluster.store
        if self.resting and not home.operations.open:
            home.unwatch()
            return
        home.around.tick()
        home.query_one(TitleBar).tell(store.snapshot.link, now)
        home.operations.observe(store.snapshot)
        if home.operations.open and home.snapshot.link.state is LinkState.POLLING:
            store.refresh()
        if home.snapshot.since and not int(now) % 5:
            home.board.refresh_changed()
        if home.progress is not None and store.snapshot.link.state is LinkState.LIVE and home.board.display:
            home.do(home.progress.poll(self._moving()))
        said = home.said
        stays = SAID_FOR if said.kind in ("good", "info") else NEWS_STAY if said.about else None
        if said.kind and stays is not None and now - said.at > stays:
            home.say("")
