"""Opens the other screens from the main screen: clusters, workers, loggers, plugins, dead letters, operations."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tui.errors import HeadraceError, UsageError, error_line
from tui.screens.base import program
from tui.screens.base.navigation import OpenCluster, OpenRecords
from tui.screens.home.base import HomeBase
from tui.screens.services.host import NO_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tui.client.workers import ClusterWorkers
    from tui.cluster.cluster_overview import ClusterSummary
    from tui.contexts.profiles import InvalidContext, Profile
    from tui.failures import FailedUnit
    from tui.model import Connector
    from tui.screens.clusters.loggers import LevelChange
    from tui.screens.clusters.workers import WorkersScreen
    from tui.screens.operations.operation_runner import OperationRunner
    from tui.screens.services.cluster_services import ClusterServices
    from tui.topics.records import TopicRecord

LISTED_CHECKS = 100  # checks whether the list has a new connector, each followed by LISTED_DELAY
LISTED_DELAY = 0.1  # seconds


class Navigation:
    """Imports each screen when it is opened."""

    def __init__(self, home: HomeBase, services: ClusterServices, runner: OperationRunner) -> None:
        self.home, self.services, self._runner = home, services, runner

    async def clusters(self) -> None:
        from tui.screens.clusters.clusters import ClustersScreen

        profiles, invalids = self._profiles()
        screen = ClustersScreen(profiles, self.home.profile, invalids, read=self._read_profiles)
        screen.current = self.glance()
        wanted = await self.home.app.push_screen_wait(screen)
        if wanted is not None:
            self.home.post_message(OpenCluster(wanted))

    async def workers(self) -> None:
        from tui.screens.clusters.workers import WorkersScreen

        screen = WorkersScreen(
            self.home.profile.label, self.services.connect, self.services.version, self._change_worker
        )
        self._update_workers(screen)
        wanted = await self.home.app.push_screen_wait(screen)
        if wanted is None:
            return
        if wanted.connector:
            self.home.open(wanted.connector, "overview")
        else:
            self.home.set_filter(f"worker:{wanted.worker}")
            self.home.back_to_list()

    def _update_workers(self, screen: WorkersScreen) -> None:
        screen.set_connectors(self.home.snapshot.connectors, stale=self.home.is_stale)

    async def _change_worker(self, verb: str, worker_id: str, group: ClusterWorkers) -> tuple[str, str]:
        """Cordons, uncordons or drains a worker as a logged operation. Returns the result for a status line."""
        from tui.screens.clusters.worker_change import question, worker_command

        if why := self.home.refusal(f"{verb} worker"):
            return why, "bad"
        if self.home.is_stale:
            return NO_RESPONSE, "warn"
        command = worker_command(verb, worker_id)
        text, code = command.would(group, worker_id)
        if code:
            return text, "bad"
        dialog = question(command, group.workers[worker_id], self.home.profile)
        if dialog is not None and not await self.home.app.push_screen_wait(dialog):
            return f"cancelled: {verb} {worker_id}", "info"
        operation = await self._runner.change_worker(command, worker_id)
        return f"{operation.title}: {operation.last}", "bad" if operation.phase.is_bad else "good"

    async def loggers(self) -> None:
        from tui.screens.clusters.loggers import LoggersScreen

        refusal = self.home.refusal("setting a level")
        screen = LoggersScreen(self.home.profile.label, self.services.connect, self.set_level, refusal)
        await self.home.app.push_screen_wait(screen)

    async def set_level(self, change: LevelChange) -> bool:
        """Sets the level as a logged operation; True if the worker accepted it."""
        from tui.screens.clusters.loggers import LoggersScreen

        operation = await self._runner.set_level(change.logger, change.level, change.scope)
        if isinstance(screen := self.home.app.screen, LoggersScreen):
            screen.report(f"{operation.title}: {operation.last}", "bad" if operation.phase.is_bad else "good")
        return not operation.phase.is_bad

    def operations(self) -> None:
        from tui.screens.operations.log import OperationsScreen

        self.home.app.push_screen(OperationsScreen(self.home.operations, self.home.profile.url))

    def plugins(self, choosing: bool = False) -> None:
        """The plugins; with `choosing`, those from which a connector can be created."""
        from tui.screens.create.plugins import PluginsScreen

        self.home.app.push_screen(PluginsScreen(self.services, choosing))

    def dead_letters(self, connector: Connector) -> None:
        from tui.screens.dead_letters.dead_letters import DeadLettersScreen, why_none

        if why := why_none(connector):
            self.home.report(why)
        else:
            self.home.app.push_screen(DeadLettersScreen(self.services, connector))

    def failing_record(self, connector: Connector) -> None:
        from tui.commands.offsets.failing_record import why_none
        from tui.screens.topics.failing_screen import FailingScreen

        if why := why_none(connector):
            self.home.report(why)
        else:
            self.home.app.push_screen(FailingScreen(self.services, connector))

    def failures(self, restart: Callable[[Sequence[FailedUnit]], str]) -> None:
        """All failures by cause; `restart` asks, and returns why it does not."""
        from tui.screens.tasks.failures_screen import FailuresScreen

        self.home.app.push_screen(FailuresScreen(self.services, restart, self._open_task))

    def _open_task(self, name: str, task: int | None) -> None:
        self.home.open(name, "overview" if task is None else "tasks")
        if task is not None:
            self.home.view.tasks.go(task)

    def topics(self) -> None:
        from tui.offsets.brokers import Brokers
        from tui.screens.topics.topics_screen import TopicsScreen

        screen = TopicsScreen(
            self.services,
            lambda topic: self.records(OpenRecords(topic)),
            self.topic,
            lambda settings: Brokers(settings["bootstrap.servers"], settings),
        )
        self.home.app.push_screen(screen)

    def topic(self, name: str) -> None:
        """The details of a topic."""
        from tui.offsets.brokers import Brokers
        from tui.screens.topics.topic_screen import TopicLinks, TopicScreen
        from tui.topics.topic_details import TopicInspector

        links = TopicLinks(
            self.records,
            self._open_connector,
            lambda settings, topic: TopicInspector(Brokers(settings["bootstrap.servers"], settings), topic),
        )
        self.home.app.push_screen(TopicScreen(self.services, name, links))

    def _open_connector(self, name: str, page: str) -> None:
        """Opens a connector's page from a screen over the main screen, which is closed."""
        while self.home.app.screen is not self.home:
            self.home.app.pop_screen()
        self.home.open(name, page)

    def records(self, wanted: OpenRecords) -> None:
        """The records of a topic, decoded by the converters of the connector, or of one that uses the topic."""
        from tui.offsets.positions import AbsolutePosition, EdgePosition
        from tui.screens.topics.records_screen import RecordsScreen, RecordsSource
        from tui.topics.position import RecordPosition
        from tui.topics.usage import uses

        connectors = self.home.snapshot.connectors
        used = uses(connectors.values(), [wanted.topic])[wanted.topic]
        names = [wanted.connector] if wanted.connector else [use.connector for use in used]
        sinks = [use.connector for use in used if use.role == "read" and use.connector in names]
        position = EdgePosition(True) if wanted.offset is None else AbsolutePosition(wanted.offset)
        connector = next((connectors[name] for name in names if name in connectors), None)
        source = RecordsSource(wanted.topic, connector, RecordPosition(position, wanted.partition))
        sink = sinks[0] if len(sinks) == 1 else ""
        self.home.app.push_screen(
            RecordsScreen(self.services, source, partial(self._set_offset, sink) if sink else None)
        )

    async def config_history(self, name: str) -> str:
        """Shows the history of a config. Returns the command to run next; empty for none."""
        from tui.screens.config.history_screen import ConfigHistoryScreen

        screen = ConfigHistoryScreen(self.services, name)
        await self.home.app.push_screen_wait(screen)
        return screen.line

    def deleted_connectors(self) -> None:
        from tui.screens.config.deleted_screen import DeletedScreen

        self.home.app.push_screen(DeletedScreen(self.services))

    def _set_offset(self, sink: str, record: TopicRecord) -> None:
        """Opens the offset editor of a sink with the position of a record."""
        self._open_connector(sink, "offsets")
        self.home.view.offsets.set_to(record.topic, record.partition, record.offset)

    async def open_when_listed(self, name: str) -> None:
        """Opens the page of a connector that was just created, as soon as the cluster lists it."""
        self.services.connection.store.refresh()
        for _ in range(LISTED_CHECKS):
            if name in self.home.snapshot.connectors:
                self.home.open(name, "overview")
                return
            await asyncio.sleep(LISTED_DELAY)
        self.home.report(f"{name} was created, but the cluster does not list it yet", "warn")

    def tick(self) -> None:
        """Each second: updates the clusters or workers screen, if it is open."""
        if len(self.home.app.screen_stack) > 1:
            from tui.screens.clusters.clusters import ClustersScreen
            from tui.screens.clusters.workers import WorkersScreen

            for screen in self.home.app.screen_stack:
                if isinstance(screen, ClustersScreen):
                    screen.set_summary(self.glance())
                elif isinstance(screen, WorkersScreen):
                    self._update_workers(screen)

    # Contexts

    def _profiles(self) -> tuple[list[Profile], Mapping[str, InvalidContext]]:
        """Every context, and clusters given by their URL. If the file cannot be read, shows why."""
        try:
            return self._read_profiles()
        except HeadraceError as error:
            self.home.report(error_line(error), "bad")
            return program.of(self.home).profiles, {}

    def _read_profiles(self) -> tuple[list[Profile], Mapping[str, InvalidContext]]:
        """Raises HeadraceError if the file cannot be read."""
        from tui import session

        known = program.of(self.home).profiles
        contexts = session.profiles().load()
        labels = {profile.label for profile in known}
        return [
            *known,
            *(profile for profile in contexts.profiles.values() if profile.label not in labels),
        ], contexts.invalid

    @property
    def profiles(self) -> list[Profile]:
        """Every context that can be opened."""
        return self._profiles()[0]

    def context_names(self) -> list[str]:
        return [profile.name for profile in self.profiles if profile.name]

    def glance(self) -> ClusterSummary:
        """The state of this cluster in a line of the clusters screen."""
        from tui.cluster.cluster_overview import ClusterSummary, counted_states

        counts = counted_states(self.home.snapshot.connectors.values())
        link = self.services.connection.store.snapshot.link
        return ClusterSummary(self.home.profile, link, counts=counts, **self.services.root)

    def use_context(self, line: str) -> bool:
        """Runs `use-context NAME`, which here also opens the cluster. False if the line is another command."""
        from tui.commands.contexts import UseContext
        from tui.script.grammar import parse

        try:
            command = parse(line)
        except UsageError:
            return False  # reported when the line is run as a command
        if not isinstance(command, UseContext):
            return False
        self.home.do(self._use_context(command, line))
        return True

    async def _use_context(self, command: object, line: str) -> None:
        from tui import session
        from tui.commands.contexts import UseContext

        assert isinstance(command, UseContext)
        if await self._runner.run(command, line) is not None:
            profile = session.profiles().get(command.name)
            self.home.post_message(OpenCluster(profile, f"{command.name} is the current context"))
