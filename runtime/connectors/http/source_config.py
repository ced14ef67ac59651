"""The configuration of HttpSource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.errors import ConfigError
from runtime.connectors.config_keys import TOPIC_KEY
from runtime.connectors.http.json_body import JsonBody
from runtime.connectors.http.json_values import check_pointer
from runtime.connectors.http.pages import CURSOR_NAME, PAGE_NAME, PaginationKind
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

BODY = "http.body"
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


def _check_url(name: str, value: Any) -> None:
    check_url(name, value)
    TextTemplate(value).check(name, (CURSOR_NAME,))


def _check_body(name: str, value: Any) -> None:
    try:
        body = JsonBody(value)
    except ConfigError as error:
        raise ConfigError(f"Invalid value for configuration {name}: {error}") from None
    if unknown := sorted(body.names - {CURSOR_NAME, PAGE_NAME}):
        raise ConfigError(
            f"Invalid value for configuration {name}: ${{{unknown[0]}}} is unknown; use ${{{CURSOR_NAME}}} or "
            f"${{{PAGE_NAME}}}"
        )


SOURCE_KEYS = ConfigDef(
    *grouped("Records", 1,
        ConfigKey(URL, ConfigType.STRING, importance=Importance.HIGH, doc="URL of the JSON API. `${cursor}` is the "
             "cursor. Keys `http.parameter.<name>` add query parameters.", validator=_check_url, width=Width.LONG,
             display_name="Url"),
        TOPIC_KEY,
        text_key(BODY, "JSON body of the requests, which are sent with POST; by default they are sent with GET. "
             "`${cursor}` is the cursor, `${page}` the page, offset or token; null if there is none.", _check_body),
        number_key(INTERVAL, 60_000, 10, "Time between the last page of a poll and the next poll."),
        ConfigKey(RECORDS, ConfigType.STRING, "", Importance.MEDIUM, "JSON pointer to the records in an answer; empty: "
             "the answer itself.", check_pointer, width=Width.MEDIUM, display_name="Records pointer"),
        text_key(KEY, "JSON pointer to the key in a record; without it, records have no key.", check_pointer),
        text_key(CURSOR, "JSON pointer to a field of the last record that the next poll continues from, as "
             "`${cursor}`. Without it, each poll reads all records.", check_pointer),
        text_key(CURSOR_INITIAL, "The cursor of the first poll. Without it, parameters with `${cursor}` are omitted "
             "from that poll."),
    ),
    *grouped("Pagination", 1,
        choice_key(PAGINATION, tuple(PaginationKind), PaginationKind.NONE, "How further pages are requested: `link` "
             "follows the Link header, `next-url` a URL in the answer; `token` sends a value of the answer as a "
             "parameter; `page` and `offset` count pages and records."),
        text_key(NEXT, "JSON pointer to the next URL or token in an answer.", check_pointer),
        text_key(PARAMETER, "Query parameter for page, offset or token; by default its name."),
        number_key(FIRST, 1, 0, "Number of the first page with `page`."),
        number_key(SIZE, 0, 0, "Records of a full page; one with fewer is the last. 0: an empty page is the last."),
        text_key(SIZE_PARAMETER, "Query parameter for the size of a page; not sent by default."),
    ),
    *connection_keys(),
)  # fmt: skip


def source_values(config: Mapping[str, str]) -> list[ConfigValue]:
    """The values of the keys with their errors, also across keys."""
    values = SOURCE_KEYS.validate(config)
    add_conflicts(values, config)
    by_name = {value.name: value for value in values}
    kind = by_name[PAGINATION].value
    if kind in (PaginationKind.NEXT_URL, PaginationKind.TOKEN) and not by_name[NEXT].value and not by_name[NEXT].errors:
        by_name[NEXT].errors.append(f"{NEXT} is required with {PAGINATION}={kind}")
    if by_name[SIZE_PARAMETER].value and not by_name[SIZE].value and not by_name[SIZE].errors:
        by_name[SIZE].errors.append(f"{SIZE} is required with {SIZE_PARAMETER}")
    _check_cursor(by_name, config)
    return values


def _check_cursor(by_name: Mapping[str, ConfigValue], config: Mapping[str, str]) -> None:
    url = by_name[URL]
    in_body = TextTemplate(by_name[BODY].value or "").names
    counted = (PaginationKind.TOKEN, PaginationKind.PAGE, PaginationKind.OFFSET)
    if PAGE_NAME in in_body and by_name[PAGINATION].value not in counted:
        by_name[BODY].errors.append(f"${{{PAGE_NAME}}} in {BODY} needs {PAGINATION}={', '.join(counted)}")
    uses = CURSOR_NAME in (*TextTemplate(url.value or "").names, *in_body)
    for name, text in prefixed(config, PARAMETER_PREFIX).items():
        template = TextTemplate(text)
        uses = uses or bool(template.names)
        try:
            template.check(PARAMETER_PREFIX + name, (CURSOR_NAME,))
        except ConfigError as error:
            url.errors.append(str(error))
    if uses and not by_name[CURSOR].value and not by_name[CURSOR].errors:
        by_name[CURSOR].errors.append(f"{CURSOR} is required by ${{cursor}}")
    if by_name[CURSOR].value and not uses:
        by_name[CURSOR].errors.append(f"Use ${{cursor}} in {URL}, {BODY} or a key {PARAMETER_PREFIX}<name>")
    if not url.errors and TextTemplate(url.value).names and by_name[CURSOR_INITIAL].value is None:
        by_name[CURSOR_INITIAL].errors.append(f"{CURSOR_INITIAL} is required by ${{cursor}} in {URL}")


def source_settings(config: Mapping[str, str]) -> dict[str, Any]:
    """The typed values of all keys; ConfigError for the first invalid one."""
    return required_settings(source_values(config))
