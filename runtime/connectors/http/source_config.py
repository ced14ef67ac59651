"""The configuration of HttpSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigValue, grouped
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.http.json_values import check_pointer
from runtime.connectors.http.settings import (
    add_conflicts,
    choice_key,
    connection_keys,
    number_key,
    required_settings,
    text_key,
)
from runtime.connectors.http.stream_config import (
    PARENT,
    STREAM,
    add_stream_conflicts,
    page_keys,
    request_keys,
    slice_keys,
    stream_keys,
)

TOPIC, INTERVAL, KEY = "topic", "http.poll.interval.ms", "http.key.pointer"
SCHEMA, SAMPLE = "http.value.schema", "http.value.schema.sample"
NONE, INFER = "none", "infer"
MISSING = "http.parent.missing"
SKIP, FAIL = "skip", "fail"

_URL, *_REQUEST = request_keys(STREAM)

SOURCE_KEYS = ConfigDef(
    *grouped("Records", 1,
        _URL,
        TOPIC_KEY,
        *_REQUEST,
        number_key(INTERVAL, 60_000, 10, "Time between the last page of a poll and the next poll."),
        choice_key(SCHEMA, (NONE, INFER), NONE, "`infer` gives values a schema, which is inferred from the records and "
             "widened when others need it; `none` leaves them as plain JSON."),
        number_key(SAMPLE, 1000, 0, "Records from which the schema is inferred before the first one is written; their "
             "pages are requested twice."),
        text_key(KEY, "JSON pointer to the key in a record; without it, records have no key.", check_pointer),
    ),
    *grouped("Pagination", 1, *page_keys(STREAM)),
    *grouped("Time slices", 1, *slice_keys(STREAM)),
    *stream_keys(PARENT),
    choice_key(MISSING, (SKIP, FAIL), SKIP, "What happens if the endpoint responds with 404 or 410 to the request for "
        "the records of a parent, which has been deleted since it was listed: `skip` continues with the next parent, "
        "`fail` fails the task."),
    *connection_keys(),
)  # fmt: skip


def source_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SOURCE_KEYS.validate(config)
    add_conflicts(values, config)
    add_stream_conflicts({value.name: value for value in values}, config, STREAM)
    return values


def source_settings(config: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of all keys; ConfigError for the first invalid one."""
    return required_settings(source_values(config))
