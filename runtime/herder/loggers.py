"""Levels of loggers, changed while the worker runs: here, in its slots, and by way of the config topic everywhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runtime.api.config.types import java_trim
from runtime.engine.port import Engine
from runtime.herder.errors import NotFound
from runtime.logs import levels
from runtime.logs.levels import ROOT
from runtime.storage.configs import ConfigStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """A logger's level, and when it was set at run time (ms)."""

    level: str
    modified: int | None

    def shown(self) -> dict[str, object]:
        return {"level": self.level, "last_modified": self.modified}


class Loggers:
    """GET and PUT of /admin/loggers (KIP-495, KIP-976). Names are taken as they come, Java's too. Event loop only."""

    def __init__(self, configs: ConfigStore, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._configs, self._engine, self._clock = configs, engine, clock
        self._set: dict[str, LoggerLevel] = {}

    def all(self) -> dict[str, dict[str, object]]:
        """Loggers with a level of their own, by name."""
        own = {name: level for name, level in self._levels().items() if level.modified or name == ROOT}
        return {name: level.shown() for name, level in sorted(own.items())}

    def one(self, name: str) -> dict[str, object]:
        found = self._levels().get(ROOT if name.lower() == ROOT else name)
        if found is None:
            raise NotFound(f"Logger {name} not found.")
        return found.shown()

    def set_here(self, name: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it; the names whose level is another now."""
        wanted = _checked(level)
        known = self._levels()
        below = [n for n in sorted({*known, name}) if _covers(name, n)]
        changed = [n for n in below if _effective(n, known) != wanted]
        now = int(self._clock() * 1000)
        self._set.update({n: LoggerLevel(wanted, now) for n in changed})
        self._set.setdefault(name, LoggerLevel(wanted, None))  # it has that level already; from now on it is known
        self._apply()
        return changed

    async def set_everywhere(self, name: str, level: str) -> None:
        """Have every worker of the cluster set it; a worker that starts later does not."""
        await self._configs.put_logger_level(name, _checked(level))

    def set_cluster_level(self, name: str, level: str) -> None:
        """Some worker has asked the whole cluster for a level."""
        try:
            self.set_here(name, level)
        except NotFound as e:
            log.warning("A level for logger %s in the config topic is not set: %s", name, e)

    def _levels(self) -> dict[str, LoggerLevel]:
        return {ROOT: LoggerLevel(levels.name_of(logging.getLogger().level), None), **self._set}

    def _apply(self) -> None:
        now = {name: level.level for name, level in self._set.items()}
        levels.apply(now)
        self._engine.set_levels(now)


def _effective(name: str, known: Mapping[str, LoggerLevel]) -> str:
    """The level that was set for a logger or for the nearest one above it. What nobody has set has none: which level
    the root has is different from worker to worker, and setting a logger's for the first time is a change."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return known[name].level if name else ""


def _checked(level: str) -> str:
    level = java_trim(level)
    if level.upper() not in levels.NUMBERS:
        raise NotFound(f"invalid log level '{level}'.")  # 404, as Apache's (FACTS 9)
    return level.upper()


def _covers(name: str, other: str) -> bool:
    return name in (ROOT, other) or other.startswith(f"{name}.")
