"""What the panes and screens of one cluster may use: its client, its plugins' keys, the status line, dialogs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tui import embedded, session
from tui.client.client import ApiCall, Connect
from tui.cluster.snapshot import LinkState
from tui.config import definitions
from tui.config.definitions import KeyDefinition
from tui.config.secrets import MASK, hides
from tui.contexts import policy
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, error_line
from tui.model import Connector
from tui.screens.base import program
from tui.screens.base.cluster import Cluster
from tui.screens.base.journal import Journal
from tui.screens.create.new_connector import NewConnector
from tui.screens.home.base import AWAY, LINK
from tui.screens.operations.operations import Operation, Operations

if TYPE_CHECKING:
    from tui.dead_letters.brokers import DeadLetterTopic, SendResult
    from tui.dead_letters.letters import DeadLetter
    from tui.metrics.rate_history import RateHistory
    from tui.screens.base.dialog import Dialog
    from tui.screens.home import Home


class Desk:
    """Of one cluster, for as long as its main screen is."""

    def __init__(self, home: Home, cluster: Cluster) -> None:
        self._home, self.cluster = home, cluster
        self.journal = Journal()
        cluster.store.subscribe(self.journal.heard)
        cluster.store.on_notice(self.journal.noticed)
        self.kept_new: dict[str, NewConnector] = {}  # connectors being made, by plugin
        self._keys: dict[str, dict[str, KeyDefinition]] = {}

    @property
    def connect(self) -> Connect:
        return self.cluster.connect

    @property
    def profile(self) -> Profile:
        return self.cluster.profile

    @property
    def operations(self) -> Operations:
        return self._home.operations

    @property
    def is_stale(self) -> bool:
        return self._home.is_stale

    @property
    def is_ours(self) -> bool:
        """Whether the worker is Headrace's: recognized by its event stream or, if that fails, by its version."""
        return self._home.snapshot.link.state is LinkState.LIVE or self._home.around.is_ours

    @property
    def names(self) -> list[str]:
        return list(self._home.snapshot.connectors)

    def course(self, name: str) -> RateHistory | None:
        """How it got on since this console is open, where the worker tells."""
        return self._home.progress.rate_histories.get(name) if self._home.progress is not None else None

    def open_when_there(self, name: str) -> None:
        """A connector that was just created, as soon as the cluster tells of it."""
        self.do(self._open_when_there(name))

    def offer_unfinished(self, name: str) -> None:
        """A change of offsets that could not be brought to its end: asks what to do as soon as the cluster is back."""
        from tui.screens.offsets import unfinished

        self.do(unfinished.offer_when_back(self._home, self, name))

    async def _open_when_there(self, name: str) -> None:
        self.cluster.store.refresh()
        for _ in range(100):
            if name in self._home.snapshot.connectors:
                self._home.open(name, "overview")
                return
            await asyncio.sleep(0.1)
        self.say(f"{name} was created, but the cluster does not list it yet", "warn")

    def say(self, text: str, kind: str = "info", about: str = "") -> None:
        """`about` names the connector concerned; the text is not shown on pages of other connectors."""
        if not (about and self._home.is_elsewhere(about)):
            self._home.say(text, kind, about)

    def unsay(self, text: str) -> None:
        """Clears this text if the status line still shows it."""
        if text and self._home.said.text == text:
            self._home.say("")

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """In the background; a failure is said in the status line."""
        self._home.do(coroutine)

    def copy(self, text: str, what: str) -> str:
        """To the clipboard, or where it cannot reach; what became of it is said, and answered."""
        app = self._home.app
        app.copy_to_clipboard(text)
        said = f"{what}: {program.of(self._home).copied}"
        self.say(said)
        return said

    async def ask(self, dialog: Dialog, instead: str) -> bool:
        """Whether it was confirmed; `instead` is said when it was not."""
        if await self._home.app.push_screen_wait(dialog):
            return True
        self.say(f"not done: {instead}")
        return False

    def may_change(self, what: str, say: Callable[[str, str], None] | None = None) -> bool:
        """Says why not, when nothing can be sent."""
        if refusal := policy.refusal(self.profile, what):
            (say or self.say)(refusal, "bad")
        elif self.is_stale:
            (say or partial(self._home.say, about=LINK))(AWAY, "warn")
        return not (self.profile.read_only or self.is_stale)

    @asynccontextmanager
    async def tracked(
        self, verb: str, target: str, lines: tuple[str, ...] = (), passwords: Collection[str] = ()
    ) -> AsyncIterator[tuple[Operation, Connect]]:
        """An operation in the log, and a client whose calls it records, without passwords. An error inside ends it
        as failed, and is the caller's to deal with."""
        operation = self.operations.begin(verb, target, lines=lines, doing=verb)
        connect = self.cluster.overheard(
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
            self.cluster.store.refresh()
        if operation.phase.is_open:
            self.operations.done(operation, "done")

    def show_plugins(self) -> None:
        from tui.screens.create.plugins import PluginsScreen

        self._home.app.push_screen(PluginsScreen(self))

    def show_dead_letters(self, one: Connector) -> None:
        from tui.screens.dead_letters.dead_letters import DeadLettersScreen, why_none

        if why := why_none(one):
            self.say(why)
        else:
            self._home.app.push_screen(DeadLettersScreen(self, one))

    async def kafka(self) -> dict[str, str]:
        """What a Kafka client needs for the context's brokers. The embedded cluster's are known without being named."""
        settings = await asyncio.to_thread(session.client_properties, self.profile)
        if not settings and (servers := await asyncio.to_thread(embedded.brokers_of, self.profile.url)):
            settings = {"bootstrap.servers": servers}
        if not settings:
            advice = "name them: config set-context NAME --bootstrap-servers HOST:9092, or `brokers` in contexts.toml"
            raise HeadraceError(f"the context {self.profile.label} names no brokers", advice)
        return settings

    async def replayed(
        self, name: str, topic: DeadLetterTopic, letters: list[DeadLetter], instead: str
    ) -> list[SendResult]:
        """Dead letters sent again, as an operation of the log."""
        async with self.tracked("replay dead letters", name) as (operation, _):
            outcomes = await asyncio.to_thread(topic.replay, letters, instead)
            failed = sum(bool(one.error) for one in outcomes)
            for one in outcomes[:20]:
                self.operations.note(operation, f"{one.letter.id}: {one.error or 'sent to ' + one.where}")
            if failed:
                self.operations.failed(operation, f"{failed} of {len(outcomes)} were not sent")
        return outcomes

    async def keys_of(self, plugin: str) -> Mapping[str, KeyDefinition]:
        """The keys that a connector class defines, asked for once; none where the worker cannot say."""
        if plugin not in self._keys:
            try:
                self._keys[plugin] = definitions.of_plugin(await self.connect.plugin_config(plugin))
            except HeadraceError:
                return {}
        return self._keys[plugin]


def masked(call: ApiCall, passwords: Collection[str] = ()) -> ApiCall:
    """As it may stand in the log of operations: without the secrets of a config."""
    return call._replace(body=_masked(call.body, passwords)) if call.changes and isinstance(call.body, dict) else call


def _masked(value: Any, passwords: Collection[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: MASK if isinstance(one, str) and hides(key, one, passwords) else _masked(one, passwords)
        for key, one in value.items()
    }
