"""Properties of Connect 1.x and 2.x that Kafka 3.0 has removed: those with a meaning for the worker are refused."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.config.types import java_trim
from runtime.api.errors import ConfigError

_CONVERTERS = ("internal.key.converter", "internal.value.converter")
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_HOST, _PORT = "rest.host.name", "rest.port"


def is_removed(key: str) -> bool:
    """Whether Kafka 3.0 has removed the property."""
    return key in (_HOST, _PORT) or key.startswith(_CONVERTERS)


def check_removed(props: Mapping[str, str]) -> None:
    """ConfigError, with the remedy, for a property that would have an effect before Kafka 3.0."""
    for key in filter(is_removed, props):
        if key in (_HOST, _PORT):
            _check_listener(key, props)
        elif key in _CONVERTERS and java_trim(props[key]) not in (_JSON, "JsonConverter"):
            raise ConfigError(
                f"{key}={props[key]} was removed in Kafka 3.0: the storage topics hold JSON, and those written with "
                "another converter cannot be read; create the connectors again with new storage topics"
            )
        elif key.endswith(".schemas.enable") and java_trim(props[key]).lower() != "false":
            raise ConfigError(
                f"{key}={props[key]} was removed in Kafka 3.0: the storage topics hold JSON without schemas, and those "
                "with schemas cannot be read; create the connectors again with new storage topics"
            )


def _check_listener(key: str, props: Mapping[str, str]) -> None:
    """`listeners` has always taken precedence."""
    if props.get("listeners"):
        return
    address = f"http://{props.get(_HOST, '')}:{props.get(_PORT, '8083')}"
    raise ConfigError(f"{key}={props[key]} was removed in Kafka 3.0: set listeners={address} instead")
