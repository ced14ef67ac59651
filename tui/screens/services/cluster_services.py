"""The services of one cluster for its pages: client, operations, event history, plugin keys, status line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from tui import embedded
from tui.client import versions
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.client.versions import Feature
from tui.cluster.cluster_overview import root_facts
from tui.cluster.snapshot import LinkState, Snapshot
from tui.commands.context import CommandContext
from tui.config import definitions
from tui.config.definitions import KeyDefinition
from tui.config.new_connector import NewConnector
from tui.config.secrets import MASK, hides
from tui.contexts import policy
from tui.contexts.kafka import client_properties, no_brokers
from tui.contexts.profiles import Profile
from tui.editor.kept_texts import KeptText, KeptTexts
from tui.errors import HeadraceError, error_line
from tui.offsets.files import file_name
from tui.screens.services.connection import ClusterConnection
from tui.screens.services.event_history import EventHistory
from tui.screens.services.host import LINK, NO_RESPONSE, REFUSAL, Host
from tui.screens.services.operations import Operation, Operations
from tui.user_folders import state_folder

if TYPE_CHECKING:
    from tui.dead_letters.brokers import DeadLetterTopic, SendResult
    from tui.dead_letters.letters import DeadLetter
    from tui.metrics.progress import ProgressMonitor
    from tui.metrics.rate_history import RateHistory

MAX_NOTED_REPLAYS = 20  # replayed records listed one by one in the operations log


class ClusterServices:
    """Exists as long as the main screen of the cluster, its `host`."""

    def __init__(
        self, connection: ClusterConnection, operations: Operations, progress: ProgressMonitor, host: Host
    ) -> None:
        self.connection, self.operations, self.progress = connection, operations, progress
        self._host = host
        self.events = EventHistory()
        connection.store.subscribe(self.events.add_changes)
        connection.store.on_notice(self.events.noticed)
        self.new_connectors: dict[str, NewConnector] = {}  # drafts of the wizard, by plugin class
        self.texts = KeptTexts(state_folder(os.environ) / "texts" / file_name(connection.profile.label.rstrip("/")))
        self._keeps_texts = True
        self.root: dict[str, str] = {}  # kind, version and Kafka cluster id of the worker, from `GET /`
        self.password_keys = PasswordKeys(connection.connect.plugin_config)
        self._keys: dict[str, dict[str, KeyDefinition]] = {}
        self._courses_read: set[str] = set()

    @property
    def connect(self) -> Connect:
        return self.connection.connect

    @property
    def profile(self) -> Profile:
        return self.connection.profile

    @property
    def snapshot(self) -> Snapshot:
        return self._host.snapshot

    @property
    def is_stale(self) -> bool:
        return self._host.is_stale

    @property
    def is_ours(self) -> bool:
        """Whether the worker is Headrace's: recognized by its event stream or, if that fails, by its version."""
        return self.snapshot.link.state is LinkState.LIVE or self.root.get("kind") == "Headrace"

    @property
    def names(self) -> list[str]:
        return list(self.snapshot.connectors)

    @property
    def version(self) -> str:
        """Kind and version of the worker, for example `Apache 4.3.0`; empty before the first response."""
        return f"{self.root.get('kind', '')} {self.root.get('version', '')}".strip()

    def missing(self, feature: Feature) -> str:
        """The reason why the worker's version cannot do it; empty if it can, and before its first response."""
        return versions.missing(feature, self.root.get("version", ""))

    async def read_root(self) -> str:
        """Reads the worker's version, which may change with each reconnection. Empty if the worker does not respond."""
        try:
            self.root = root_facts(await self.connect.root())
        except HeadraceError:
            return ""
        return self.root["version"]

    def context(self, connect: Connect | None = None) -> CommandContext:
        """The context of commands, without progress texts."""
        return self.connection.context(connect or self.connect, lambda text: None)

    def course(self, name: str) -> RateHistory | None:
        """Rates of a connector; None if neither the worker nor the brokers report them."""
        return self.progress.rate_histories.get(name)

    def limit(self, name: str) -> str:
        """The rate limit of a connector, as text; empty without one."""
        known = self.progress.known.get(name)
        return known.limit if known is not None else ""

    async def read_course(self, name: str) -> None:
        """Reads the progress that a Headrace worker recorded before the console was opened, once for each connector."""
        if self.is_ours and name not in self._courses_read:
            self._courses_read.add(name)
            with suppress(HeadraceError):  # an older worker keeps none
                self.progress.recorded(name, (await self.connect.progress(name))["points"])

    # The status line

    def keep_text(self, kind: str, name: str, fields: Mapping[str, str] | None) -> None:
        """Keeps an edited text on disk until it is applied or discarded (None). Without a disk it is kept in memory."""
        try:
            if fields is None:
                self.texts.forget(kind, name)
            elif self._keeps_texts:
                self.texts.keep(kind, name, fields)
        except HeadraceError as error:
            self._keeps_texts = False
            self.report(f"the text would be lost with this console: {error}", "warn", name)

    def text_left_behind(self, kind: str, name: str) -> KeptText | None:
        """The text of a console that has ended, which is this console's from now on."""
        with suppress(HeadraceError):
            return self.texts.take_over(kind, name)
        return None

    def report(self, text: str, kind: str = "info", subject: str = "") -> None:
        """`about` names the connector concerned; the text is not shown on pages of other connectors."""
        if not (subject and self._host.is_elsewhere(subject)):
            self._host.report(text, kind, subject)

    def clear_report(self, text: str) -> None:
        """Clears this text if the status line still shows it."""
        self._host.clear_report(text)

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs the coroutine in the background; errors are shown in the status line."""
        self._host.do(coroutine)

    # Changes

    def may_change(self, action: str, report: Callable[[str, str], None] | None = None) -> bool:
        """Whether requests that change the cluster can be sent; if not, shows the reason."""
        if refusal := policy.refusal(self.profile, action):
            (report or partial(self._host.report, subject=REFUSAL))(refusal, "bad")
        elif self.is_stale:
            (report or partial(self._host.report, subject=LINK))(NO_RESPONSE, "warn")
        return not (self.profile.read_only or self.is_stale)

    @asynccontextmanager
    async def tracked(
        self, verb: str, target: str, lines: tuple[str, ...] = (), passwords: Collection[str] = ()
    ) -> AsyncIterator[tuple[Operation, Connect]]:
        """A logged operation and a client that records its calls, with secrets masked.

        A HeadraceError raised inside marks the operation as failed and propagates to the caller. With a `goal` that is
        set inside, the operation ends when that state is observed.
        """
        operation = self.operations.begin(verb, target, lines=lines, doing=verb)
        connect = self.connection.recording_client(
            lambda call: operation.calls.append(masked(call, passwords)),
            lambda text: self.operations.note(operation, text),
        )
        try:
            policy.permit(self.profile, verb)
            yield operation, connect
        except HeadraceError as error:
            self.operations.failed(operation, error_line(error))
            raise
        finally:
            self.connection.store.refresh()
        if operation.phase.is_open and operation.goal:
            self.operations.accepted(operation)
        elif operation.phase.is_open:
            self.operations.done(operation, "done")

    async def replayed(
        self, name: str, topic: DeadLetterTopic, letters: list[DeadLetter], instead: str
    ) -> list[SendResult]:
        """Replays dead letters as one logged operation; `instead` is the topic for letters without headers."""
        async with self.tracked("replay dead letters", name) as (operation, _):
            outcomes = await asyncio.to_thread(topic.replay, letters, instead)
            failed = sum(bool(result.error) for result in outcomes)
            for result in outcomes[:MAX_NOTED_REPLAYS]:
                self.operations.note(operation, f"{result.letter.id}: {result.error or 'sent to ' + result.where}")
            if failed:
                self.operations.failed(operation, f"{failed} of {len(outcomes)} were not sent")
        return outcomes

    # Facts about the cluster

    async def kafka(self) -> dict[str, str]:
        """Kafka client settings for the brokers of the context; those of the embedded cluster are known by default.

        Raises HeadraceError if the context names no brokers.
        """
        settings = await asyncio.to_thread(client_properties, self.profile)
        if not settings and (servers := await asyncio.to_thread(embedded.brokers_of, self.profile.url)):
            settings = {"bootstrap.servers": servers}
        if not settings:
            raise no_brokers(self.profile)
        return settings

    async def keys_of(self, plugin: str) -> Mapping[str, KeyDefinition]:
        """The config keys that a connector class defines, read once; empty if the worker does not respond."""
        if plugin not in self._keys:
            try:
                self._keys[plugin] = definitions.of_plugin(await self.connect.plugin_config(plugin))
            except HeadraceError:
                return {}
        return self._keys[plugin]


def masked(call: ApiCall, passwords: Collection[str] = ()) -> ApiCall:
    """The call as it may appear in the operations log: without the secrets of a config."""
    return call._replace(body=_masked(call.body, passwords)) if call.changes and isinstance(call.body, dict) else call


def _masked(value: Any, passwords: Collection[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: MASK if isinstance(item, str) and hides(key, item, passwords) else _masked(item, passwords)
        for key, item in value.items()
    }
