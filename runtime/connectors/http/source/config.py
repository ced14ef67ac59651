"""The configuration of HttpSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.http.json_values import check_pointers
from runtime.connectors.http.settings import (
    add_conflicts,
    choice_key,
    connection_keys,
    number_key,
    required_settings,
    text_key,
    title,
)
from runtime.connectors.http.source.manifest.translation import MANIFEST, NAME, STREAMS, stream_configs
from runtime.connectors.http.source.stream_checks import add_stream_conflicts
from runtime.connectors.http.source.stream_config import (
    PARENT,
    STREAM,
    page_keys,
    request_keys,
    slice_keys,
    stream_keys,
)

TOPIC, INTERVAL, KEY = "topic", "http.poll.interval.ms", "http.key.pointer"
SCHEMA, SAMPLE = "http.value.schema", "http.value.schema.sample"
NONE, INFER = "none", "infer"
MISSING, PARENT_FIELDS = "http.parent.missing", "http.parent.fields"
SKIP, FAIL = "skip", "fail"
IN_FLIGHT = "http.max.in.flight"

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
        text_key(KEY, "JSON pointer to the key in a record, or several with commas between them, for a key with a "
             "field for each; without it, records have no key.", check_pointers),
        text_key(NAME, "Name of the stream, which becomes a part of its source partitions, so that streams with the "
             "same URL have offsets of their own. Streams of a manifest have their names."),
    ),
    *grouped("Pagination", 1, *page_keys(STREAM)),
    *grouped("Time slices", 1, *slice_keys(STREAM)),
    *stream_keys(PARENT),
    choice_key(MISSING, (SKIP, FAIL), SKIP, "What happens if the endpoint responds with 404 or 410 to the request for "
        "the records of a parent, which has been deleted since it was listed: `skip` continues with the next parent, "
        "`fail` fails the task."),
    number_key(IN_FLIGHT, 1, 1, "Parents whose records are requested at the same time. Requests for the records of one "
        "parent are sent one after another."),
    ConfigKey(PARENT_FIELDS, ConfigType.LIST, "", Importance.MEDIUM, "Fields of the parent that are added to each "
        "record: `owner.login`, or `repository=name` to give it another name. A record must not have a field of that "
        "name itself.", width=Width.MEDIUM,
        display_name=title(PARENT_FIELDS)),
    *grouped("Manifest", 1,
        text_key(MANIFEST, "Path of a YAML or JSON file with the streams of an API, or its text. Other keys apply to "
             "all streams and take precedence."),
        ConfigKey(STREAMS, ConfigType.LIST, "", Importance.MEDIUM, "Streams of the manifest that are read; by default "
             "all.", width=Width.MEDIUM, display_name=title(STREAMS)),
    ),
    *connection_keys(),
)  # fmt: skip


def source_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SOURCE_KEYS.validate(config)
    by_name = {value.name: value for value in values}
    if config.get(MANIFEST):
        _check_manifest(by_name, config)
    else:
        add_conflicts(values, config)
        add_stream_conflicts(by_name, config, STREAM)
    return values


def _check_manifest(by_name: Mapping[str, ConfigValue], config: Mapping[str, str]) -> None:
    """Adds the errors of the manifest, each with the path of its field."""
    errors = by_name[MANIFEST].errors
    for name in (_URL.name, TOPIC_KEY.name):
        if name not in config:
            by_name[name].errors.clear()
    if _URL.name in config:
        by_name[_URL.name].errors.append(f"Set either {_URL.name} or {MANIFEST}")
    try:
        streams = stream_configs(config)
    except ConfigError as error:
        errors.append(f"Invalid value for configuration {MANIFEST}: {error}")
        return
    for stream in streams.values():
        for value in source_values(stream.config):
            if not by_name[value.name].errors:
                described = (stream.described(value.name, error) for error in value.errors)
                errors += [text for text in described if text not in errors]


def stream_settings(config: Mapping[str, str]) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """The typed values and the configuration of each stream; ConfigError for the first invalid value."""
    required_settings(source_values(config))
    configs = [stream.config for stream in stream_configs(config).values()]
    return [(required_settings(source_values(each)), each) for each in configs]
