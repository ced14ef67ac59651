"""The configuration of a standalone worker: a distributed worker's properties without group and storage topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.errors import ConfigError
from runtime.config import properties, session_keys
from runtime.config.exactly_once import ExactlyOnce
from runtime.config.foreign_plugins import NONE, ForeignPlugins
from runtime.config.worker_config import DISTRIBUTED, WorkerConfig, WorkerConfigError, distributed

FILE = "offset.storage.file.filename"

_EXACTLY_ONCE = "exactly.once.source.support"
_OF_GROUPS = (
    "group.id", "session.timeout.ms", "heartbeat.interval.ms", "rebalance.timeout.ms", _EXACTLY_ONCE,
    *(key.name for key in session_keys.KEYS),
)  # fmt: skip
_OF_TOPICS = ("config.storage.", "offset.storage.", "status.storage.")

STANDALONE = ConfigDef(
    *(k for name, k in DISTRIBUTED.keys.items() if name not in _OF_GROUPS and not name.startswith(_OF_TOPICS)),
    ConfigKey(FILE, ConfigType.STRING, importance=Importance.HIGH, doc="File of source offsets, in Java's own format."),
)
"""Every key of a standalone worker that has an effect."""

_NO_GROUP = {
    "group.id": "connect-standalone",  # the prefix of client ids
    "config.storage.topic": "configs",  # names of logs in memory, not of topics
    "offset.storage.topic": "",  # tasks send their offsets to the worker
    "status.storage.topic": "statuses",
}


@dataclass(frozen=True, slots=True)
class StandaloneConfig:
    """A standalone worker's configuration, checked."""

    worker: WorkerConfig
    offsets_file: Path


def load_standalone(path: Path, foreign: ForeignPlugins = NONE) -> StandaloneConfig:
    """The configuration in a standalone worker's properties file; WorkerConfigError names the invalid property."""
    try:
        return standalone(properties.load(path), foreign)
    except properties.PropertiesError as e:
        raise WorkerConfigError(str(e)) from None
    except ConfigError as e:
        raise WorkerConfigError(f"{path}: {e}") from None


def standalone(props: Mapping[str, str], foreign: ForeignPlugins = NONE) -> StandaloneConfig:
    """As load_standalone(), for properties that have already been read; ConfigError without the file's name."""
    file = props.get(FILE, "").strip()
    if not file:
        raise WorkerConfigError(f'Missing required configuration "{FILE}": the file in which to store source offsets')
    _check_exactly_once(props)
    unused = [k for k in props if k != FILE and _of_distributed(k)]
    worker = distributed({**{k: v for k, v in props.items() if k != FILE and k not in unused}, **_NO_GROUP}, foreign)
    warnings = [f"{key} has no effect: it is a property of distributed workers" for key in unused]
    return StandaloneConfig(replace(worker, warnings=(*worker.warnings, *warnings)), Path(file))


def _check_exactly_once(props: Mapping[str, str]) -> None:
    """A worker without a group cannot keep another process from writing its offsets (KIP-618)."""
    value = props.get(_EXACTLY_ONCE, "").strip()
    if value.lower() not in ("", ExactlyOnce.DISABLED):
        raise WorkerConfigError(
            f"Invalid value {value} for configuration {_EXACTLY_ONCE}: exactly-once source support is available in "
            "distributed mode only; run a distributed worker, or remove the property"
        )


def _of_distributed(key: str) -> bool:
    """Keys without effect in a standalone worker, as in Java's."""
    return key in _OF_GROUPS or key.startswith(_OF_TOPICS)
