"""The rate limits in a connector's configuration: `headrace.rate.records` and `headrace.rate.bytes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import at_least, optional
from runtime.config.restart_policy import invalid_own_keys
from runtime.model.rate_limit import UNLIMITED, RateLimit

PREFIX = "headrace.rate."
_RECORDS, _BYTES = f"{PREFIX}records", f"{PREFIX}bytes"

KEYS = (
    ConfigKey(_RECORDS, ConfigType.LONG, None, Importance.LOW, "Records per second of all tasks of the connector "
         "together; unset: no limit.", optional(at_least(1))),
    ConfigKey(_BYTES, ConfigType.LONG, None, Importance.LOW, "Bytes per second of all tasks of the connector together, "
         "of keys and values in Kafka; unset: no limit.", optional(at_least(1))),
)  # fmt: skip

_DEFINITION = ConfigDef(*KEYS)


def rate_limit_of(config: Mapping[str, str]) -> RateLimit:
    """The limit in a connector's configuration, with variables resolved. ConfigError names an invalid key."""
    if _RECORDS not in config and _BYTES not in config:
        return UNLIMITED
    v = _DEFINITION.parse(config)
    return RateLimit(v[_RECORDS], v[_BYTES])


def invalid_rates(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key, with the error."""
    return invalid_own_keys(PREFIX, _DEFINITION, config)
