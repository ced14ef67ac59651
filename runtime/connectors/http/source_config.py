"""The configuration of HttpSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import topic_key
from runtime.connectors.http.json_values import check_pointer
from runtime.connectors.http.pages import PaginationKind
from runtime.connectors.http.settings import (
    URL,
    add_conflicts,
    check_url,
    choice_key,
    connection_keys,
    number_key,
    prefixed,
    required_settings,
    text_key,
)
from runtime.connectors.http.templates import TextTemplate

TOPIC, INTERVAL, RECORDS, KEY = "topic", "http.poll.interval.ms", "http.records.pointer", "http.key.pointer"
CURSOR, CURSOR_INITIAL = "http.cursor.pointer", "http.cursor.initial"
PAGINATION, NEXT = "http.pagination", "http.pagination.next.pointer"
PARAMETER, FIRST, SIZE, SIZE_PARAMETER = (
    "http.pagination.parameter",
    "http.pagination.first",
    "http.pagination.size",
    "http.pagination.size.parameter",
)
PARAMETER_PREFIX = "http.parameter."
CURSOR_NAME = "cursor"


def _check_url(name: str, value: Any) -> None:
    check_url(name, value)
    TextTemplate(value).check(name, (CURSOR_NAME,))


def _text(name: str, default: str, doc: str, group: str, order: int) -> ConfigKey:
    return ConfigKey(
        name,
        ConfigType.STRING,
        default,
        Importance.MEDIUM,
        doc,
        check_pointer,
        group,
        order,
        Width.MEDIUM,
        name.removeprefix("http.").replace(".", " ").capitalize(),
    )


SOURCE_KEYS = ConfigDef(
    ConfigKey(
        URL,
        ConfigType.STRING,
        importance=Importance.HIGH,
        doc="URL of the JSON API. `${cursor}` is the cursor. Keys `http.parameter.<name>` add query parameters.",
        validator=_check_url,
        group="Records",
        order_in_group=1,
        width=Width.LONG,
        display_name="Url",
    ),
    topic_key("Records", 2),
    number_key(INTERVAL, 60_000, 10, "Time between the last page of a poll and the next poll.", "Records", 3),
    _text(RECORDS, "", "JSON pointer to the records in a response; empty: the response itself.", "Records", 4),
    text_key(KEY, "JSON pointer to the key in a record; without it, records have no key.", "Records", 5, check_pointer),
    text_key(
        CURSOR,
        "JSON pointer to a field of the last record that the next poll continues from, as `${cursor}`. Without it, "
        "each poll reads all records.",
        "Records",
        6,
        check_pointer,
    ),
    text_key(
        CURSOR_INITIAL,
        "The cursor of the first poll. Without it, parameters with `${cursor}` are omitted from that poll.",
        "Records",
        7,
    ),
    choice_key(
        PAGINATION,
        tuple(PaginationKind),
        PaginationKind.NONE,
        "How further pages are requested: `link` follows the Link header, `next-url` a URL in the response; `token` "
        "sends a value of the response as a parameter; `page` and `offset` count pages and records.",
        "Pagination",
        1,
    ),
    text_key(NEXT, "JSON pointer to the next URL or token in a response.", "Pagination", 2, check_pointer),
    text_key(PARAMETER, "Query parameter for page, offset or token; by default its name.", "Pagination", 3),
    number_key(FIRST, 1, 0, "Number of the first page with `page`.", "Pagination", 4),
    number_key(
        SIZE,
        0,
        0,
        "Records of a full page; one with fewer is the last. 0: an empty page is the last.",
        "Pagination",
        5,
    ),
    text_key(SIZE_PARAMETER, "Query parameter for the size of a page; not sent by default.", "Pagination", 6),
    *connection_keys(),
)


def source_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SOURCE_KEYS.validate(config)
    add_conflicts(values, config)
    found = {value.name: value for value in values}
    kind = found[PAGINATION].value
    if kind in (PaginationKind.NEXT_URL, PaginationKind.TOKEN) and not found[NEXT].value and not found[NEXT].errors:
        found[NEXT].errors.append(f"{NEXT} is required with {PAGINATION}={kind}")
    if found[SIZE_PARAMETER].value and not found[SIZE].value and not found[SIZE].errors:
        found[SIZE].errors.append(f"{SIZE} is required with {SIZE_PARAMETER}")
    _check_cursor(found, config)
    return values


def _check_cursor(found: Mapping[str, ConfigValue], config: Mapping[str, str]) -> None:
    url = found[URL]
    uses = CURSOR_NAME in TextTemplate(url.value or "").names
    for name, text in prefixed(config, PARAMETER_PREFIX).items():
        template = TextTemplate(text)
        uses = uses or bool(template.names)
        try:
            template.check(PARAMETER_PREFIX + name, (CURSOR_NAME,))
        except ConfigError as error:
            url.errors.append(str(error))
    if uses and not found[CURSOR].value and not found[CURSOR].errors:
        found[CURSOR].errors.append(f"{CURSOR} is required by ${{cursor}}")
    if found[CURSOR].value and not uses:
        found[CURSOR].errors.append(f"Use ${{cursor}} in {URL} or in a key {PARAMETER_PREFIX}<name>")
    if not url.errors and TextTemplate(url.value).names and found[CURSOR_INITIAL].value is None:
        found[CURSOR_INITIAL].errors.append(f"{CURSOR_INITIAL} is required by ${{cursor}} in {URL}")


def source_settings(config: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of all keys; ConfigError for the first invalid one."""
    return required_settings(source_values(config))
