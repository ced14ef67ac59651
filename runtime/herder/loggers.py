"""Log levels changed at run time: in this worker with its slots and plugin hosts, or in every worker through the config
topic."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from runtime.api.config.types import java_trim
from runtime.engine.port import Engine
from runtime.herder.errors import NotFound
from runtime.logs import levels
from runtime.logs.levels import ROOT
from runtime.storage.configs import ConfigStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level, and when it was set at run time in milliseconds since 1970."""

    level: str
    modified: int | None

    def view(self) -> dict[str, object]:
        """The JSON object of GET /admin/loggers."""
        return {"level": self.level, "last_modified": self.modified}


class LeveledHosts(Protocol):
    """The plugin hosts, as far as levels concern them."""

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in present and future plugin hosts, and in their JVMs."""


class Loggers:
    """GET and PUT of /admin/loggers (KIP-495, KIP-976). Any name is accepted, also Java's. Event loop only."""

    def __init__(
        self, configs: ConfigStore, engine: Engine, clock: Callable[[], float] = time.time,
        hosts: LeveledHosts | None = None,
    ) -> None:  # fmt: skip
        self._configs, self._engine, self._clock, self._hosts = configs, engine, clock, hosts
        self._set: dict[str, LoggerLevel] = {}

    def all(self) -> dict[str, dict[str, object]]:
        """GET /admin/loggers: loggers with a level of their own, by name."""
        own = {name: level for name, level in self._levels().items() if level.modified or name == ROOT}
        return {name: level.view() for name, level in sorted(own.items())}

    def logger(self, name: str) -> dict[str, object]:
        """GET /admin/loggers/{name}; NotFound if no level was set for the logger."""
        level = self._levels().get(ROOT if name.lower() == ROOT else name)
        if level is None:
            raise NotFound(f"Logger {name} not found.")
        return level.view()

    def set_here(self, name: str, level: str) -> list[str]:
        """Set the level of a logger and of the loggers below it in this worker; returns the loggers whose level has
        changed. NotFound for an invalid level, as in Connect."""
        wanted = _checked(level)
        known = self._levels()
        below = [n for n in sorted({*known, name}) if _covers(name, n)]
        changed = [n for n in below if _effective(n, known) != wanted]
        now = int(self._clock() * 1000)
        self._set.update({n: LoggerLevel(wanted, now) for n in changed})
        self._set.setdefault(name, LoggerLevel(wanted, None))  # not changed, but listed from now on
        self._apply()
        return changed

    async def set_everywhere(self, name: str, level: str) -> None:
        """Set the level in every running worker of the cluster; workers that start later keep their own levels."""
        await self._configs.put_logger_level(name, _checked(level))

    def set_cluster_level(self, name: str, level: str) -> None:
        """A worker has requested a level of the whole cluster."""
        try:
            self.set_here(name, level)
        except NotFound as e:
            log.warning("Ignoring a level of logger %s in the config topic: %s", name, e)

    def _levels(self) -> dict[str, LoggerLevel]:
        return {ROOT: LoggerLevel(levels.name_of(logging.getLogger().level), None), **self._set}

    def _apply(self) -> None:
        now = {name: level.level for name, level in self._set.items()}
        levels.apply(now)
        self._engine.set_levels(now)
        if self._hosts is not None:
            self._hosts.set_levels(now)


def _effective(name: str, known: Mapping[str, LoggerLevel]) -> str:
    """The level set for a logger or for its nearest ancestor; empty if none was set. The root's level does not count:
    it differs between workers, and setting a logger's first level is always a change."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return known[name].level if name else ""


def _checked(level: str) -> str:
    trimmed = java_trim(level).upper()
    if trimmed not in levels.NUMBERS:
        raise NotFound(f"invalid log level '{level}'.")  # 404, as Apache's (FACTS.md, 9)
    return trimmed


def _covers(name: str, other: str) -> bool:
    return name in (ROOT, other) or other.startswith(f"{name}.")
