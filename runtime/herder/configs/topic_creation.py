"""`topic.creation.*` of a source: settings of the topics that the worker creates (KIP-158).

They are checked when the connector starts, not when it is created, so that an error makes the connector FAILED, as in
Apache's worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.definition import ConfigType
from runtime.api.config.types import parse
from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex import PatternError, compiled
from runtime.config.properties import with_prefix
from runtime.model.task_spec import TopicGroup

PREFIX = "topic.creation."
_DEFAULT = "default"
_BROKERS_DEFAULT = -1
_RULES = ("include", "exclude", "partitions", "replication.factor")


def topic_groups(config: Mapping[str, str]) -> list[TopicGroup]:
    """The topic groups in order, the default group last; empty if the connector has no such settings. ConfigError with
    Apache's wording."""
    if not any(key.startswith(PREFIX) for key in config):
        return []
    default = _group(_DEFAULT, config, None)
    names = [n for n in parse(f"{PREFIX}groups", config.get(f"{PREFIX}groups", ""), ConfigType.LIST) if n != _DEFAULT]
    return [*(_group(name, config, default) for name in names), default]


def _group(name: str, config: Mapping[str, str], default: TopicGroup | None) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    given = with_prefix(config, prefix)
    replicas = _replicas(prefix, given, default)  # first, as in Connect, if several are invalid
    return TopicGroup(
        name,
        _patterns(prefix, given, "include"),
        _patterns(prefix, given, "exclude"),
        _partitions(prefix, given, default),
        replicas,
        {key: value for key, value in given.items() if key not in _RULES},
    )


def _patterns(prefix: str, given: Mapping[str, str], key: str) -> list[str]:
    patterns: list[str] = parse(f"{prefix}{key}", given.get(key, ""), ConfigType.LIST)
    for pattern in patterns:
        try:
            compiled(pattern)
        except PatternError as e:
            shown = ", ".join(patterns)
            problem = f"Syntax error in regular expression: {e}"
            raise ConfigError(f"Invalid value [{shown}] for configuration {key}: {problem}") from None
    return patterns


def _partitions(prefix: str, given: Mapping[str, str], default: TopicGroup | None) -> int:
    number = _number(prefix, given, "partitions", ConfigType.INT, default.partitions if default else None)
    if number == 0 or number < _BROKERS_DEFAULT:
        raise ConfigError(
            f"Invalid value {number} for configuration partitions: Number of partitions must be positive, or -1 to use "
            "the broker's default"
        )
    return number


def _replicas(prefix: str, given: Mapping[str, str], default: TopicGroup | None) -> int:
    number = _number(
        prefix, given, "replication.factor", ConfigType.SHORT, default.replication_factor if default else None
    )
    if number == 0 or number < _BROKERS_DEFAULT:
        raise ConfigError(
            f"Invalid value {number} for configuration replication.factor: Replication factor must be positive and not "
            "larger than the number of brokers in the Kafka cluster, or -1 to use the broker's default"
        )
    return number


def _number(prefix: str, given: Mapping[str, str], key: str, kind: ConfigType, default: int | None) -> int:
    if key in given:
        number: int = parse(f"{prefix}{key}", given[key], kind)
        return number
    if default is None:
        raise ConfigError(f'Missing required configuration "{prefix}{key}" which has no default value.')
    return default
