"""The executor of a connector's dedicated slots: `headrace.executor.memory.mb` and `headrace.executor.cores`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import at_least
from runtime.config.own_keys import invalid_own_keys
from runtime.model.executor_size import ExecutorSize

PREFIX = "headrace.executor."
_MEMORY, _CORES = f"{PREFIX}memory.mb", f"{PREFIX}cores"
_JAVA_OVERHEAD = 256
"""MB of a slot and its task host JVM beside the heap of that JVM."""

KEYS = (
    ConfigKey(
        _MEMORY, ConfigType.INT, 0, Importance.LOW,
        "On a Spark cluster with dynamic allocation: memory for each dedicated slot beside the heap of its executor; "
        "0: as all executors, for Java plugins the memory of their JVM.", at_least(0),
    ),
    ConfigKey(
        _CORES, ConfigType.INT, 0, Importance.LOW,
        "On a Spark cluster with dynamic allocation: cores of the executor of each dedicated slot; 0: one.",
        at_least(0),
    ),
)  # fmt: skip

_DEFINITION = ConfigDef(*KEYS)


def executor_size_of(config: Mapping[str, str], java_heap: int = 0) -> ExecutorSize:
    """The size in a connector's configuration. `java_heap`: MB of heap of the JVM for its Java plugins; 0 for others.
    ConfigError names an invalid key."""
    v = _DEFINITION.parse(config)
    memory = v[_MEMORY] or (java_heap + _JAVA_OVERHEAD if java_heap else 0)
    return ExecutorSize(memory, v[_CORES])


def invalid_executor_size(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key, with the error."""
    return invalid_own_keys(PREFIX, _DEFINITION, config)
