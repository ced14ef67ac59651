"""What the panes and screens of one cluster may use: its client, its plugins' keys, the status line, dialogs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tui import policy
from tui.client import Call, Connect
from tui.config import definitions
from tui.config.definitions import Key
from tui.config.secrets import MASK, is_secret
from tui.errors import HeadraceError
from tui.profiles import Profile
from tui.screens.cluster import Cluster
from tui.screens.journal import Journal
from tui.screens.operations import Operation, Operations

if TYPE_CHECKING:
    from tui.screens.dialog import Dialog
    from tui.screens.home import Home


class Desk:
    """Of one cluster, for as long as its main screen is."""

    def __init__(self, home: Home, cluster: Cluster) -> None:
        self._home, self.cluster = home, cluster
        self.journal = Journal()
        cluster.store.subscribe(self.journal.heard)
        cluster.store.on_notice(self.journal.noticed)
        self._keys: dict[str, dict[str, Key]] = {}

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

    def say(self, text: str, kind: str = "info") -> None:
        self._home.say(text, kind)

    def do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """In the background; a failure is said in the status line."""
        self._home.do(coroutine)

    async def ask(self, dialog: Dialog, instead: str) -> bool:
        """Whether it was confirmed; `instead` is said when it was not."""
        if await self._home.app.push_screen_wait(dialog):
            return True
        self.say(f"not done: {instead}")
        return False

    def may_change(self, what: str) -> bool:
        """Says why not, when nothing can be sent."""
        if self.profile.read_only:
            self.say(f"{what} refused: the context {self.profile.label} is read-only", "bad")
        elif self.is_stale:
            self.say("the cluster does not answer: nothing is sent until it is back", "warn")
        return not (self.profile.read_only or self.is_stale)

    @asynccontextmanager
    async def tracked(self, verb: str, target: str, lines: tuple[str, ...]) -> AsyncIterator[tuple[Operation, Connect]]:
        """An operation in the log, and a client whose calls it records. An error inside ends it as failed, and is
        the caller's to deal with."""
        operation = self.operations.begin(verb, target, lines=lines, doing=verb)
        connect = self.cluster.overheard(
            lambda call: operation.calls.append(masked(call)), lambda text: self.operations.note(operation, text)
        )
        try:
            policy.permit(self.profile, verb)
            yield operation, connect
        except HeadraceError as error:
            self.operations.failed(operation, " ".join(str(error).split()))
            raise
        finally:
            self.cluster.store.refresh()
        if operation.phase.is_open:
            self.operations.done(operation, "done")

    async def keys_of(self, plugin: str) -> Mapping[str, Key]:
        """The keys that a connector class defines, asked for once; none where the worker cannot say."""
        if plugin not in self._keys:
            try:
                self._keys[plugin] = definitions.of_plugin(await self.connect.plugin_config(plugin))
            except HeadraceError:
                return {}
        return self._keys[plugin]


def masked(call: Call) -> Call:
    """As it may stand in the log of operations: without the secrets of a config."""
    return replace(call, body=_masked(call.body)) if call.changes and isinstance(call.body, dict) else call


def _masked(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: MASK if isinstance(one, str) and is_secret(key, one) else _masked(one) for key, one in value.items()}
