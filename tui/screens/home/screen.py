"""The main screen: the connector list, a connector's page beside or instead of it, the prompt, the bars."""

from __future__ import annotations

import time
from asyncio import Event, timeout, to_thread
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.worker import Worker

from tui.cluster.snapshot import Diff, LinkState, Notice, Snapshot
from tui.contexts.profiles import Profile
from tui.screens.base import program
from tui.screens.base.navigation import (
    ChangeInterrupted,
    ChooseTheme,
    OpenConfigHistory,
    OpenRecords,
    OpenTopic,
    ScreenStarted,
)
from tui.screens.home.command_line import SCREENS, CommandLine
from tui.screens.home.key_enablement import KeyEnablement
from tui.screens.home.keys import KEYS, LAYOUT
from tui.screens.home.list_and_page import ListAndPage
from tui.screens.home.updates import Updates
from tui.screens.listing import ordering
from tui.screens.listing.connector_list import ConnectorList
from tui.screens.services.operations import Operations
from tui.widgets.bars import Counters, KeyBar, StatusBar, TitleBar

if TYPE_CHECKING:
    from tui.cluster.store import ClusterStore
    from tui.screens.connector.connector import ConnectorView
    from tui.screens.home.between_contexts import BetweenContexts
    from tui.screens.home.bulk_actions import BulkActions
    from tui.screens.home.controller import HomeController
    from tui.screens.home.navigation import Navigation
    from tui.screens.home.own_commands import OwnCommands
    from tui.screens.services.cluster_services import ClusterServices
    from tui.screens.services.connection import ClusterConnection
    from tui.screens.services.incident_watch import IncidentWatch
    from tui.screens.tasks.tasks_pane import TasksPane
    from tui.widgets.prompt import Prompt

DOUBLE_PRESS = 2.0  # seconds within which a second ^C quits
FIRST_LIST = 0.1  # seconds to draw the first response, before the rest of the screen is imported
# Imported after the first paint: what the list needs, then the rest of the screen.
CONNECTION_MODULES = ("tui.screens.services.cluster_services", "tui.wire.evented")
PART_MODULES = ("tui.screens.home.bulk_actions", "tui.screens.connector.connector")


class Home(ListAndPage):
    """Creates the parts of the screen and connects them. Those declared here exist once `services` is set, after the
    first paint."""

    DEFAULT_CSS = LAYOUT
    BINDINGS: ClassVar[list[BindingType]] = KEYS
    controller: HomeController
    bulk: BulkActions
    navigation: Navigation
    between_contexts: BetweenContexts

    def __init__(self, profile: Profile) -> None:
        super().__init__(profile)
        self.is_started = False  # or has failed to start
        self.updates = Updates(self)
        self.operations = Operations(self.updates.stepped)
        self.command_line = CommandLine(self, self.run_line, lambda: self.navigation.context_names())
        self.enablement = KeyEnablement(self, lambda: self.command_line.is_open)
        self._is_resting = False  # another cluster is on the screen
        self._connection: ClusterConnection | None = None
        self._watching: Worker[None] | None = None
        self._interrupted_at = 0.0
        self.incidents: IncidentWatch | None = None
        self._own_commands: OwnCommands | None = None

    def compose(self) -> ComposeResult:
        yield TitleBar(self.profile)
        yield Counters()
        with Horizontal(id="body"):
            yield ConnectorList(self.operations.pending, time.time, "connectors")
        yield StatusBar()
        yield KeyBar()

    # Starting and ending

    def on_mount(self) -> None:
        self.connector_list.focus()
        self.connector_list.marks = self.marks
        self.query_one(TitleBar).draw()
        self.count()
        self.call_after_refresh(lambda: self.do(self._start()))

    async def _start(self) -> None:
        try:
            await self.start()
        finally:
            self.is_started = True
            self.post_message(ScreenStarted())

    async def start(self) -> None:
        """After the first paint: connects to the cluster and shows the list, then adds the rest of the screen."""
        await to_thread(_load, CONNECTION_MODULES)
        from tui.metrics.progress import ProgressMonitor
        from tui.screens.services.cluster_services import ClusterServices
        from tui.screens.services.connection import ClusterConnection

        self._connection = connection = ClusterConnection(self.profile)
        store = connection.store
        self.progress = ProgressMonitor(connection.connect, self._progressed)
        self.connector_list.monitor = self.progress
        self.connector_list.sort(await to_thread(ordering.load, self.profile.label))
        services = ClusterServices(connection, self.operations, self.progress, self)
        store.on_notice(self.noticed)
        store.on_progress(self.progress.update)
        store.subscribe(self.take_snapshot)
        self.wake()
        await self._first_list(store)
        await self._add_parts(services)
        self.set_interval(1.0, self.tick)

    async def _first_list(self, store: ClusterStore) -> None:
        """Waits until the first response is drawn, which further imports would delay, at most `FIRST_LIST` seconds."""
        drawn = Event()

        def after_drawing(snapshot: Snapshot, diff: Diff) -> None:
            self.call_after_refresh(drawn.set)

        forget = store.subscribe(after_drawing)
        with suppress(TimeoutError):
            async with timeout(FIRST_LIST):
                await drawn.wait()
        forget()

    async def _add_parts(self, services: ClusterServices) -> None:
        """Adds the parts that respond to keys."""
        await to_thread(_load, PART_MODULES)
        from tui.screens.connector.connector import ConnectorView
        from tui.screens.home.between_contexts import BetweenContexts
        from tui.screens.home.bulk_actions import BulkActions
        from tui.screens.home.controller import HomeController
        from tui.screens.home.navigation import Navigation
        from tui.screens.services.broker_lag import BrokerLag

        await self.command_line.mount()
        if self.profile.bootstrap:
            self.broker_lag = BrokerLag(
                services.progress, lambda: services.context().cluster.brokers(), self.report, time.monotonic
            )
        self.controller = HomeController(self, services, self.command_line.closed)
        self.bulk = BulkActions(self, self.controller, self.updates.steps_changed)
        self.navigation = Navigation(self, services, self.controller.runner)
        self.between_contexts = BetweenContexts(self, services, self.navigation)
        view = ConnectorView(self.notices, services)
        self.incidents = await to_thread(self._incident_watch, services)
        await self.query_one("#body").mount(view)
        self._view, self.services = view, services
        self.do(self.controller.interrupted.offer_all())
        self.do(self.controller.tell_left_behind())
        if self.snapshot.link.state in (LinkState.LIVE, LinkState.POLLING):  # it responded before `services` was set
            self.do(self.read_version())
        self.open_pane()
        self.refresh_bindings()

    def _incident_watch(self, services: ClusterServices) -> IncidentWatch:
        from tui.screens.services.incident_watch import IncidentWatch

        def report(text: str, kind: str) -> None:
            self.app.call_later(self.report, text, kind)

        def write(sequence: str) -> None:
            program.of(self).write_control(sequence)

        watch = IncidentWatch(self.profile, services.connect, services.progress, write, report, self.do)
        if watch.problems:
            report(f"config.toml: {watch.problems[0]}", "warn")
        return watch

    async def on_unmount(self) -> None:
        if self.incidents is not None:
            await to_thread(self.incidents.close)
        if self._connection is not None:
            await self._connection.close()

    def _progressed(self) -> None:
        self.connector_list.show_progress()

    def wake(self) -> None:
        """Watches the cluster, for the first time or again."""
        self._is_resting = False
        if self._connection is not None and (self._watching is None or self._watching.is_finished):
            watching = self._harmless(self._connection.store.run())
            self._watching = self.run_worker(watching, exit_on_error=False)

    def rest(self) -> None:
        """Called when another cluster is shown: this one is watched only until its operations have ended."""
        self._is_resting = True

    # Updates

    def take_snapshot(self, snapshot: Snapshot, diff: Diff) -> None:
        """Shows a new snapshot of the store."""
        with self.guarded():
            self.updates.take_snapshot(snapshot, diff)

    def noticed(self, notice: Notice) -> None:
        """Shows a notice of the worker."""
        with self.guarded():
            self.updates.noticed(notice)

    def tick(self) -> None:
        """Runs each second."""
        if self.services is None or not self.query(TitleBar):  # not started yet, or closing
            return
        if self._is_resting and not self.operations.open:
            if self._watching is not None:
                self._watching.cancel()
            return
        self.navigation.tick()
        self.updates.tick()
        if self.incidents is not None:
            self.incidents.tick(self.services.connection.store.snapshot)

    # Which keys work

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.enablement.allows(action)

    def is_idle(self, action: str) -> bool:
        return self.enablement.is_idle(action)

    def unavailable(self, action: str) -> str:
        return self.enablement.unavailable(action)

    def why_not(self, action: str) -> str:
        return self.enablement.why_not(action)

    def _is_unavailable(self, action: str) -> bool:
        """Whether the worker's version of Connect cannot do it; if so, shows the reason."""
        if reason := self.unavailable(action):
            self.report(reason, "warn")
        return bool(reason)

    def is_foremost(self, action: str) -> bool:
        return self.enablement.is_foremost(action)

    # The prompt

    def action_filter(self) -> None:
        if self.is_on_page and not self.is_broad:
            self.action_back()  # to the list, whose rows the filter selects while it is typed
        self.command_line.filter()

    def action_command(self, text: str = "") -> None:
        self.command_line.command(text)

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open."""
        return self.command_line.catch(event)

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        self.command_line.typed(event)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        self.command_line.left(event)

    def run_line(self, line: str) -> None:
        """Runs a typed line: the words that exist only on the screen, or a command."""
        words = line.split()
        if line in ("q", "quit", "exit"):
            self.action_quit()
        elif line in SCREENS:
            self.call_later(self.run_action, line)
        elif words[0] == "theme":
            self.post_message(ChooseTheme(" ".join(words[1:2])))
        elif words[0] == "sort":
            self._sort_by(" ".join(words[1:]))
        elif self.services is not None and not self.navigation.use_context(line):
            from tui.screens.home import screen_commands

            if not screen_commands.run(self, line):
                self.controller.typed(line)

    def _sort_by(self, text: str) -> None:
        """`:sort lag`, `:sort lag reverse`; without an order, the menu."""
        if (order := ordering.of_words(text)) is not None:
            self.sort(order)
        elif text:
            known = ", ".join(ordering.ORDERS)
            self.report(f"unknown order {text!r}; choose from {known}, with or without `reverse`", "bad")
        else:
            self.call_later(self.action_sort)

    # Keys for connectors

    def action_act(self, name: str) -> None:
        if self.marks and not self.is_on_page:
            self.bulk.act(name)
        elif not self._is_unavailable(f"act('{name}')") and self.services is not None and (connector := self.target()):
            self.controller.act(name, connector)

    def on_tasks_pane_restart_wanted(self, event: TasksPane.RestartWanted) -> None:
        event.stop()
        if connector := self.snapshot_of(event.connector):
            self.controller.restart_task(event.task, connector)

    def action_bulk(self) -> None:
        self.bulk.menu()

    def action_edit(self) -> None:
        if not self._is_unavailable("edit") and (connector := self.target()):
            self.open(connector.name, "offsets")
            self.view.offsets.edit()

    def action_undo(self) -> None:
        if self._is_unavailable("undo"):
            return
        self.view.turn("offsets")
        self.view.offsets.undo()

    def on_connector_view_turned(self, event: ConnectorView.Turned) -> None:
        self.refresh_bindings()

    # Other screens

    def action_clusters(self) -> None:
        self.do(self.navigation.clusters())

    def action_workers(self) -> None:
        self.do(self.navigation.workers())

    def action_loggers(self) -> None:
        self.do(self.navigation.loggers())

    def action_log(self) -> None:
        self.navigation.operations()

    def action_plugins(self) -> None:
        self.navigation.plugins()

    def action_create(self) -> None:
        if not self.is_refused("creating a connector"):
            self.navigation.plugins(choosing=True)

    def action_dead_letters(self) -> None:
        if connector := self.target():
            self.navigation.dead_letters(connector)

    def action_failing_record(self) -> None:
        if connector := self.target():
            self.navigation.failing_record(connector)

    def action_failures(self) -> None:
        self.navigation.failures(self.bulk.restart_failed)

    def action_own_commands(self) -> None:
        from tui.screens.home.own_commands import OwnCommands

        if self._own_commands is None:
            self._own_commands = OwnCommands(self)
        if connector := self.target():
            self._own_commands.open_menu(connector)

    def action_topics(self) -> None:
        if self.services is not None:
            self.navigation.topics()

    def action_diff(self) -> None:
        self.do(self.between_contexts.diff())

    def action_promote(self) -> None:
        self.do(self.between_contexts.promote())

    def action_deleted(self) -> None:
        self.navigation.deleted_connectors()

    def on_open_records(self, event: OpenRecords) -> None:
        event.stop()
        self.navigation.records(event)

    def on_open_topic(self, event: OpenTopic) -> None:
        event.stop()
        self.navigation.topic(event.name)

    def on_open_config_history(self, event: OpenConfigHistory) -> None:
        event.stop()
        self.do(self._config_history(event.name))

    async def _config_history(self, name: str) -> None:
        if line := await self.navigation.config_history(name):
            self.run_line(line)

    def action_again(self) -> None:
        self.bulk.mark_again()

    def action_help(self) -> None:
        if self.services is not None:
            self.controller.show_help()

    def open_when_listed(self, name: str) -> None:
        """Opens the page of a connector that was just created, as soon as the cluster lists it."""
        self.do(self.navigation.open_when_listed(name))

    def on_change_interrupted(self, event: ChangeInterrupted) -> None:
        event.stop()
        self.do(self.controller.interrupted.offer(event.name))

    # Leaving

    def action_interrupt(self) -> None:
        """^C pressed by habit does no harm; pressed twice, it quits."""
        now = time.monotonic()
        if now - self._interrupted_at < DOUBLE_PRESS:
            self.action_quit()
        else:
            self._interrupted_at = now
            self.report("q quits; so does ^C pressed again within two seconds")

    def action_quit(self) -> None:
        if self.services is None:
            self.app.exit(0)
        else:
            self.controller.quit()

    @property
    def losses(self) -> list[str]:
        """Everything that quitting now would lose, one line each."""
        return self.controller.losses if self.services is not None else []

    @property
    def unsaved(self) -> list[str]:
        """Edited texts that quitting would lose, one line each; edits of deleted connectors do not count."""
        existing = self.snapshot.connectors
        return [line for name, line in self.view.unsaved() if name in existing] if self._view is not None else []


def _load(modules: Sequence[str]) -> None:
    """Imports the larger modules in a thread, so that keys are responded meanwhile."""
    for name in modules:
        import_module(name)
