"""The configuration of HttpSink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.errors import ConfigError
from runtime.connectors.http.deliveries import BodyFormat, NullValues
from runtime.connectors.http.settings import (
    URL,
    add_conflicts,
    check_url,
    choice_key,
    connection_keys,
    number_key,
    required_settings,
    text_key,
)
from runtime.connectors.http.templates import RECORD_NAMES, TextTemplate

METHOD, BODY, BATCH, CONTENT_TYPE = "http.method", "http.body.format", "http.batch.size", "http.content.type"
NULLS, IN_FLIGHT, SPLIT = "http.null.values", "http.max.in.flight", "http.batch.split"


def _check_url(name: str, value: Any) -> None:
    check_url(name, value)
    TextTemplate(value).check(name, RECORD_NAMES)


def _check_content_type(name: str, value: Any) -> None:
    if not value or not value.isascii() or not value.isprintable():
        raise ConfigError(f"Invalid value {value} for configuration {name}: must be such as application/json")


SINK_KEYS = ConfigDef(
    *grouped("Requests", 1,
        ConfigKey(URL, ConfigType.STRING, importance=Importance.HIGH, doc="URL of the requests. Placeholders: "
             "`${topic}`, `${partition}`, `${offset}`, `${timestamp}`, `${key}`, `${key.field}`, `${value.field}`.",
             validator=_check_url, width=Width.LONG, display_name="Url"),
        choice_key(METHOD, ("POST", "PUT", "PATCH"), "POST", "Method of the requests."),
        choice_key(BODY, tuple(BodyFormat), BodyFormat.ARRAY, "`single`: a request for each record; `json-array` and "
             "`json-lines`: one for several records with the same URL. Bytes are sent as they are, strings too with "
             "`single`; other values are written as JSON."),
        number_key(BATCH, 500, 1, "Maximum number of records of a request."),
        text_key(CONTENT_TYPE, "Content-Type; by default that of the format.", _check_content_type),
        choice_key(NULLS, tuple(NullValues), NullValues.SKIP, "Records with a null value: `skip` them, `send` JSON's "
             "null, or send a `delete` request to their URL."),
        ConfigKey(IN_FLIGHT, ConfigType.INT, 4, Importance.MEDIUM, "Requests of a task at the same time. Those of one "
             "partition are sent one after another.", validators.between(1, 100), width=Width.SHORT,
             display_name="Max in flight"),
        ConfigKey(SPLIT, ConfigType.BOOLEAN, True, Importance.LOW, "Whether a request for several records that is "
             "refused (4xx) is repeated with parts of them, so that only the records at fault are reported. Otherwise "
             "all its records are.", width=Width.SHORT, display_name="Batch split"),
    ),
    *connection_keys(),
)  # fmt: skip


def sink_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SINK_KEYS.validate(config)
    add_conflicts(values, config)
    return values


def sink_settings(config: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of all keys; ConfigError for the first invalid one."""
    return required_settings(sink_values(config))
