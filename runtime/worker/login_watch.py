"""Watches the files from which the logins of Kafka clients come: key and trust stores, and files of config providers.

read again ─ the worker's logins ─ passwords: given to running clients, in the worker and in slots
           │                     └ certificates: other clients; tasks that run start again
           └ a connector's own credentials: its tasks start again
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runtime.api.errors import ConfigError
from runtime.config.providers import file_providers, has_variables
from runtime.config.secret_values import passwords
from runtime.config.worker_config import WorkerConfig
from runtime.kafka.clients import open_clients
from runtime.kafka.clients.logins import Credentials, certificates
from runtime.kafka.clients.security import PREFIXES
from runtime.kafka.clients.settings import logins, own_logins
from runtime.kafka.errors import ClientConfigError

_log = logging.getLogger(__name__)

INTERVAL = 1.0
"""Seconds between two looks at the files: until then a client may be refused with an old password."""

Logins = Mapping[str, Credentials]
Configs = Mapping[str, Mapping[str, str]]
"""Configurations by connector."""

_TASKS = ("producer.", "consumer.")
"""Logins of clients that live as long as their tasks."""

_KINDS = ("producer.", "consumer.", "admin.")
_OVERRIDES = tuple(f"{kind}override.{prefix}" for kind in _KINDS for prefix in PREFIXES)
_READ = (*PREFIXES, *_OVERRIDES, *(f"{kind}{prefix}" for kind in _KINDS for prefix in PREFIXES))


@dataclass(frozen=True, slots=True)
class LoginUsers:
    """What uses the logins. `edition` changes with the configurations. `renew_writer` replaces the leader's producer if
    its certificates are old; `renew_tasks` starts the tasks of a connector again, or those of all; `hide` replaces the
    values that are hidden in logs."""

    configs: Callable[[], Configs]
    edition: Callable[[], int]
    renew_slots: Callable[[Logins], None]
    renew_writer: Callable[[], Awaitable[None]]
    renew_tasks: Callable[[str | None], None]
    hide: Callable[[frozenset[str]], None]


class LoginWatch:
    """Event loop only; files are read in threads. A file that cannot be used leaves the credentials as they are."""

    def __init__(self, worker: WorkerConfig, users: LoginUsers) -> None:
        self._worker, self._users = worker, users
        self._files = file_providers(worker.providers)
        self._known: Logins = logins(worker.originals)
        self._with_own: Configs = {}  # the connectors that have credentials of their own
        self._edition: int | None = None
        self._overridden: Mapping[str, Logins] = {}
        self._problem = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="logins")

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                await self.check()
            except Exception:  # the watch must not end
                _log.exception("The logins of the Kafka clients could not be read again")

    async def check(self) -> None:
        """Read the files again, and use what has changed."""
        try:
            originals, now = await asyncio.to_thread(self._read)
        except (ConfigError, ClientConfigError) as e:
            self._report(f"The Kafka clients keep their credentials: {e}")
            return
        self._report("")
        changed = {login: new for login, new in now.items() if new != self._known[login]}
        if changed:
            await self._renew(originals, changed)
        edition = self._users.edition()
        if edition != self._edition:  # there may be thousands of configurations
            self._edition = edition
            self._with_own = {name: own for name, own in self._users.configs().items() if any(map(_has_own, own))}
        for name in await asyncio.to_thread(self._changed, originals, self._with_own):
            _log.info("The tasks of %s start again, since the credentials of their Kafka clients have changed", name)
            self._users.renew_tasks(name)

    async def _renew(self, originals: Mapping[str, str], changed: Logins) -> None:
        _log.info("Kafka clients use other credentials from now on: %s", ", ".join(sorted(changed)))
        others = [login for login, new in changed.items() if certificates(new) != certificates(self._known[login])]
        self._known = {**self._known, **changed}
        self._users.hide(self._worker.secrets | passwords(originals) | set(self._variables(originals)))
        open_clients.renew(changed)
        self._users.renew_slots(changed)
        await self._users.renew_writer()
        if any(login in others for login in _TASKS):
            self._users.renew_tasks(None)

    def _read(self) -> tuple[Mapping[str, str], Logins]:
        originals = self._resolved(self._worker.unresolved, self._worker.originals)
        return originals, logins(originals)

    def _resolved(self, raw: Mapping[str, str], otherwise: Mapping[str, str]) -> dict[str, str]:
        """Properties with the values that files have now. Other providers are asked when a worker or task starts."""
        texts = {key: text for key, text in raw.items() if key.startswith(_READ) and has_variables(text)}
        now = self._files.resolve(texts).config
        return {**otherwise, **{key: value for key, value in now.items() if not has_variables(value)}}

    def _variables(self, originals: Mapping[str, str]) -> Iterator[str]:
        return (originals[key] for key, text in self._worker.unresolved.items() if has_variables(text))

    def _changed(self, originals: Mapping[str, str], configs: Configs) -> Sequence[str]:
        """The connectors whose own credentials have changed."""
        now: dict[str, Logins] = {}
        for name, config in configs.items():
            try:
                now[name] = own_logins(originals, self._resolved(config, config))
            except (ConfigError, ClientConfigError):  # reported when the connector starts
                now[name] = self._overridden.get(name, {})
        changed = [name for name, own in now.items() if self._overridden.get(name, own) != own]
        self._overridden = now
        return changed

    def _report(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("%s", problem)
        self._problem = problem


def _has_own(key: str) -> bool:
    return key.startswith(_OVERRIDES)
