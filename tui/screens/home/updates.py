"""How the main screen reacts to snapshots, to notices of the worker, to steps of operations, and to the clock."""

from __future__ import annotations

import time
from collections.abc import Collection

from tui.cluster.snapshot import Diff, LinkState, Notice, Snapshot
from tui.formatting import one_line
from tui.screens.home.base import HomeBase
from tui.screens.services.host import LINK, REFUSAL
from tui.screens.services.operations import Operation, Phase
from tui.widgets.bars import TitleBar

RESULT_SHOWN = 15.0  # seconds that a good result stays in the status line; a bad one stays until the next text
NOTICE_SHOWN = 180.0  # seconds that a bad notice stays in the status line
RESTART_PAGES = ("overview", "tasks")  # they show the last restart
DRAW_DELAY = 0.05  # seconds: steps of operations within it are drawn together
MAX_NOTICES = 10  # kept of each connector
NOTICE_KINDS = {"WARN": "warn", "WARNING": "warn", "ERROR": "bad"}
KINDS = {Phase.OBSERVED: "good", Phase.FAILED: "bad", Phase.TIMED_OUT: "warn"}


class Updates:
    """Each public method is called on the event loop."""

    def __init__(self, home: HomeBase) -> None:
        self.home = home
        self._drawing, self._took = False, 0.0
        self._stepped: set[str] = set()  # the targets of operations since the last drawing

    def take_snapshot(self, snapshot: Snapshot, diff: Diff) -> None:
        """Shows a new snapshot of the store."""
        home = self.home
        if home.progress is not None and diff.removed:
            home.progress.forget(snapshot.connectors)
        home.marks.forget(set(home.marks) - snapshot.connectors.keys())
        if self._is_outdated(snapshot):
            home.report("")
        self._warn_of_lost_edits(diff.removed)
        was_away = home.snapshot.link.state in (LinkState.CONNECTING, LinkState.LOST)
        home.snapshot = snapshot
        if was_away and snapshot.link.state in (LinkState.LIVE, LinkState.POLLING):
            home.do(home.read_version())
        home.operations.observe(snapshot)
        home.draw()

    def _is_outdated(self, now: Snapshot) -> bool:
        """Whether the status line reports a state that has ended."""
        subject, before = self.home.status.subject, self.home.snapshot
        if subject == LINK:
            return now.link.state in (LinkState.LIVE, LinkState.POLLING)
        if subject not in before.connectors:
            return subject in now.connectors  # deleted, and created again
        connector = now.connectors.get(subject)
        return connector is None or (before.connectors[subject].overall == "FAILED" and connector.overall != "FAILED")

    def _warn_of_lost_edits(self, deleted: Collection[str]) -> None:
        """Edits are kept in case a connector of that name is created again, but do not delay quitting."""
        if self.home.services is None:
            return
        edited = sorted({name for name, _ in self.home.view.unsaved() if name in deleted})
        if edited:
            text = f"{', '.join(edited)}: deleted; the edited text can no longer be applied"
            self.home.report(text, "warn", edited[0])

    def noticed(self, notice: Notice) -> None:
        """Shows a notice of a Headrace worker, in addition to states; warnings and errors appear in the status line."""
        home = self.home
        task = "" if notice.task is None else f" task {notice.task}"
        text = f"{notice.connector}{task}: {notice.message}".removeprefix(": ")
        if notice.connector and notice.message.startswith(
            (f"{notice.connector}-{notice.task} ", f"{notice.connector} ")
        ):
            text = notice.message  # it already names the connector
        kept = home.notices.setdefault(notice.connector, [])
        kept.append(f"{time.strftime('%H:%M:%S')} {notice.level.lower()}{task}: {notice.message}")
        del kept[:-MAX_NOTICES]
        kind = NOTICE_KINDS.get(notice.level.upper())
        if kind and not (notice.connector and home.is_elsewhere(notice.connector)):
            home.report(one_line(text), kind, notice.connector)
        if home.services is not None and home.view.name_shown == notice.connector:
            home.view.draw()

    def stepped(self, operation: Operation) -> None:
        """Shows that an operation has entered another phase or has a new note."""
        home = self.home
        kind = "warn" if operation.doubtful else KINDS.get(operation.phase, "busy")
        is_refused = operation.phase is Phase.FAILED and not operation.accepted_at
        home.report(f"{operation.title}: {operation.last}", kind, REFUSAL if is_refused else "")
        self._stepped.add(operation.target)
        self.steps_changed()

    def steps_changed(self) -> None:
        """Draws what shows operations again, once for many steps: with thousands of targets, drawing must not take the
        time of their requests."""
        if not self._drawing:
            self._drawing = True
            self.home.set_timer(max(DRAW_DELAY, 4 * self._took), self._draw_steps)

    def _draw_steps(self) -> None:
        from tui.screens.operations.bulk_screen import BulkScreen
        from tui.screens.operations.log import OperationsScreen

        started, home = time.monotonic(), self.home
        self._drawing = False
        if not home.app.is_running:  # it ends: parts of the screen may be gone before its timers
            return
        if self._stepped:
            home.connector_list.refresh_changed()
            home.refresh_bindings()
            if home.services is not None and home.view.page in RESTART_PAGES and home.view.name_shown in self._stepped:
                home.view.draw()
            self._stepped.clear()
        for screen in self.home.app.screen_stack:
            if isinstance(screen, OperationsScreen | BulkScreen):
                screen.draw()
        self._took = time.monotonic() - started

    def tick(self) -> None:
        """Updates each second: staleness, ages in the list, pending operations, progress, texts that expire."""
        home, now = self.home, time.monotonic()
        if home.services is None:
            return
        store = home.services.connection.store
        home.query_one(TitleBar).set_link(store.snapshot.link, now)
        home.operations.observe(store.snapshot)
        if home.operations.open and home.snapshot.link.state is LinkState.POLLING:
            store.refresh()
        if not int(now) % 5:
            home.connector_list.show_progress()
        is_live = store.snapshot.link.state is LinkState.LIVE
        if home.progress is not None and is_live and home.connector_list.display:
            home.do(home.progress.poll(*self._to_poll(home.progress.has_events)))
        elif home.broker_lag is not None and store.snapshot.link.state is LinkState.POLLING:
            home.do(home.broker_lag.poll(list(home.snapshot.connectors.values()), home.connector_list.on_screen))
        status = home.status
        is_notice = status.subject not in ("", REFUSAL)
        limit = RESULT_SHOWN if status.kind in ("good", "info") else NOTICE_SHOWN if is_notice else None
        if status.kind and limit is not None and now - status.at > limit:
            home.report("")

    def _to_poll(self, has_events: bool) -> tuple[list[str], list[str]]:
        """The connectors on the screen and the others whose progress no event reports: all running ones if the worker
        sends no events, and sinks that are paused or stopped."""
        shown, connectors = self.home.connector_list.on_screen, self.home.snapshot.connectors
        resting, on_screen = self.home.connector_list.rows.resting_sinks, set(shown)
        polled = (
            resting
            if has_events
            else {name for name in shown if name in connectors and connectors[name].running} | resting.keys()
        )
        return [name for name in shown if name in polled], [name for name in resting if name not in on_screen]
