"""When failed connectors and tasks are restarted: `headrace.restart.*` of the connector, or else of the worker."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import at_least
from runtime.api.errors import ConfigError


def invalid_own_keys(prefix: str, definition: ConfigDef, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key with this prefix, with the error."""
    for key, text in config.items():
        if not key.startswith(prefix):
            continue
        if key not in definition.keys:
            yield key, f"Unknown configuration {key}; choose from {', '.join(definition.keys)}"
            continue
        try:
            definition.parse({key: text})
        except ConfigError as e:
            yield key, str(e)


PREFIX = "headrace.restart."

BUDGET = ConfigKey(
    f"{PREFIX}budget", ConfigType.INT, 60, Importance.LOW,
    "Automatic restarts of all connectors of a worker per minute; further ones wait.", at_least(1),
)  # fmt: skip
"""A key of the worker alone."""

KEYS = (
    ConfigKey(f"{PREFIX}attempts", ConfigType.INT, 0, Importance.MEDIUM, "Automatic restarts in a row of a failed "
         "connector or task; 0: none, -1: without limit.", at_least(-1)),
    ConfigKey(f"{PREFIX}delay.ms", ConfigType.LONG, 10_000, Importance.LOW, "Delay of the first automatic restart; "
         "each further one waits twice as long.", at_least(1)),
    ConfigKey(f"{PREFIX}delay.max.ms", ConfigType.LONG, 600_000, Importance.LOW,
         "Longest delay of an automatic restart.", at_least(1)),
    ConfigKey(f"{PREFIX}errors", ConfigType.LIST, "", Importance.LOW, "Exceptions after which to restart, as glob "
         "patterns for the full or the simple class name of the exception or of a cause; empty: any. No restart "
         "follows an error of the configuration."),
    ConfigKey(f"{PREFIX}reset.ms", ConfigType.LONG, 600_000, Importance.LOW, "Time for which a connector or task has "
         "to run until its restarts are counted from zero again.", at_least(1)),
)  # fmt: skip
"""Keys of worker and connector; a connector's key replaces the worker's."""

_DEFINITION = ConfigDef(*KEYS)
_CONFIG_ERROR = ConfigError.java_name


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The policy of one connector. Times are in seconds."""

    attempts: int = 0
    """Restarts in a row; 0: no automatic restarts, -1: without limit."""
    delay: float = 10.0
    max_delay: float = 600.0
    errors: tuple[str, ...] = ()
    """Patterns of exception names; empty: any error."""
    reset: float = 600.0

    def delay_before(self, attempt: int, jitter: Callable[[], float] = random.random) -> float:
        """Seconds before this restart, counted from 1: twice as long each time, of which a random half is left out, so
        that connectors that failed together do not restart together."""
        longest = min(self.delay * 2.0 ** min(attempt - 1, 60), self.max_delay)
        return longest * (0.5 + jitter() / 2)

    def covers(self, trace: str) -> bool:
        """Whether a failure with this trace may be followed by a restart."""
        names = set(exception_names(trace))
        if not names or _CONFIG_ERROR in names:
            return False
        return not self.errors or any(_matches(name, pattern) for name in names for pattern in self.errors)


def policy_of(*configs: Mapping[str, str]) -> RestartPolicy:
    """The policy in these configurations; later ones replace keys of earlier ones. ConfigError names an invalid key."""
    given = {key: text for config in configs for key, text in config.items() if key.startswith(PREFIX)}
    if not given:
        return _OFF
    v = _DEFINITION.parse(given)
    return RestartPolicy(
        attempts=v[f"{PREFIX}attempts"],
        delay=v[f"{PREFIX}delay.ms"] / 1000,
        max_delay=v[f"{PREFIX}delay.max.ms"] / 1000,
        errors=tuple(pattern.strip() for pattern in v[f"{PREFIX}errors"] if pattern.strip()),
        reset=v[f"{PREFIX}reset.ms"] / 1000,
    )


_OFF = RestartPolicy()


def invalid_keys(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key of a connector's policy, with the error."""
    return invalid_own_keys(PREFIX, _DEFINITION, config)


def exception_names(trace: str) -> Iterator[str]:
    """The names of the exception in a trace and of its causes, in Java's format or Python's."""
    lines = trace.splitlines()
    if lines and lines[0].startswith("Traceback "):
        lines = [line for line in lines[-1:] if not line.startswith(" ")]
    for number, line in enumerate(lines):
        if number == 0 or line.startswith("Caused by: "):
            name = line.removeprefix("Caused by: ").partition(":")[0].strip()
            if name and " " not in name:
                yield name


def _matches(name: str, pattern: str) -> bool:
    """Whether a pattern fits the full name of an exception, or the name without its package and outer classes."""
    simple = name.rpartition(".")[2].rpartition("$")[2]
    return fnmatchcase(name, pattern) or fnmatchcase(simple, pattern)
