"""The configuration keys of a stream: its requests, pages, cursor and time slices. The same keys with the prefix
`http.parent.` describe the endpoint of its parents, those with `http.parent.parent.` that of the parents of these."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Width, grouped
from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.connectors.http.json_values import check_pointer
from runtime.connectors.http.settings import check_url, choice_key, number_key, text_key, title
from runtime.connectors.http.source.json_body import JsonBody
from runtime.connectors.http.source.pages import PARENT_NAME, PaginationKind
from runtime.connectors.http.source.slices import Slices, TimeFormat, parse_time

STREAM, PARENT = "http.", "http.parent."
"""The prefixes of the keys of the stream and of its parents."""

URL, BODY, RECORDS, PARAMETERS = "url", "body", "records.pointer", "parameter."
CURSOR, CURSOR_INITIAL = "cursor.pointer", "cursor.initial"
PAGINATION, NEXT, PARAMETER = "pagination", "pagination.next.pointer", "pagination.parameter"
MORE, END, RESUME = "pagination.more.pointer", "pagination.end.pointer", "pagination.resume.pointer"
FIRST, SIZE, SIZE_PARAMETER = "pagination.first", "pagination.size", "pagination.size.parameter"
SLICE_START, SLICE_STEP, SLICE_FORMAT = "slice.start", "slice.step.ms", "slice.format"
SLICE_LOOKBACK, SLICE_DELAY = "slice.lookback.ms", "slice.end.delay.ms"

_DOCS = {
    URL: "URL of the JSON API. `${cursor}` is the cursor, `${parent.<field>}` a field of the parent. Keys "
    "`http.parameter.<name>` add query parameters.",
    BODY: "JSON body of the requests, which are sent with POST; by default they are sent with GET. The placeholders "
    "are those of `http.url`, and `${page}` for the page, offset or token; null if there is none.",
    RECORDS: "JSON pointer to the records in a response; empty: the response itself.",
    CURSOR: "JSON pointer to a field of the last record that the next poll continues from, as `${cursor}`. Without it, "
    "each poll reads all records.",
    CURSOR_INITIAL: "The cursor of the first poll. Without it, parameters with `${cursor}` are omitted from that poll.",
    PAGINATION: "How further pages are requested: `link` follows the Link header, `next-url` a URL in the response; "
    "`token` sends a value of the response as a parameter; `page` and `offset` count pages and records.",
    NEXT: "JSON pointer to the next URL or token in a response; -1 is the last element of an array.",
    MORE: "JSON pointer to a value in a response that is false on the last page, such as `/has_more`.",
    END: "JSON pointer to a value in a response that is true on the last page, such as `/end_of_stream`.",
    RESUME: "JSON pointer to the URL or token in the last response at which the next poll begins; by default it begins "
    "at the first page.",
    PARAMETER: "Query parameter for page, offset or token; by default its name.",
    FIRST: "Number of the first page with `page`.",
    SIZE: "Records of a full page; one with fewer is the last. 0: an empty page is the last. Offsets with `page` count "
    "pages of this size: change it between two polls only.",
    SIZE_PARAMETER: "Query parameter for the size of a page; not sent by default.",
    SLICE_START: "Time in ISO 8601, in UTC without a zone, from which the records are read in time slices. A slice has "
    "requests of its own, with its start and end as `${slice.start}` and `${slice.end}`, or with its last moment as "
    "`${slice.last}` if the end is inclusive.",
    SLICE_STEP: "Length of a time slice. The last slice of a poll ends at the present time.",
    SLICE_FORMAT: "Format of the placeholders: `iso` (2026-01-31T00:00:00Z), `date` (2026-01-31), `epoch` and "
    "`epoch-ms` (seconds and milliseconds since 1970), or a format of strftime such as `%Y-%m-%d %H:%M`; in UTC.",
    SLICE_LOOKBACK: "How far a poll begins before the end of the last one, to read records that arrive late.",
    SLICE_DELAY: "Time before the present that is not read yet, for records that appear late.",
}  # fmt: skip

_LONGEST = 10 * 366 * 86_400_000  # milliseconds


def parents_of(prefix: str) -> str:
    """The prefix of the keys of the parents."""
    return f"{prefix}parent."


def has_parent(config: Mapping[str, str], prefix: str) -> bool:
    """Whether the stream with these keys has a parent."""
    return bool(config.get(parents_of(prefix) + URL))


def request_keys(prefix: str) -> tuple[ConfigKey, ...]:
    """The keys for the requests and the cursor, not grouped; `http.url` is required, that of a parent is not."""
    required: dict[str, Any] = {} if prefix == STREAM else {"default": None}
    return (
        ConfigKey(prefix + URL, ConfigType.STRING, importance=Importance.HIGH, doc=_doc(prefix, URL),
             validator=_check_url, width=Width.LONG, display_name=title(prefix + URL), **required),
        text_key(prefix + BODY, _doc(prefix, BODY), _check_body),
        ConfigKey(prefix + RECORDS, ConfigType.STRING, "", Importance.MEDIUM, _doc(prefix, RECORDS), check_pointer,
             width=Width.MEDIUM, display_name=title(prefix + RECORDS)),
        text_key(prefix + CURSOR, _doc(prefix, CURSOR), check_pointer),
        text_key(prefix + CURSOR_INITIAL, _doc(prefix, CURSOR_INITIAL)),
    )  # fmt: skip


def page_keys(prefix: str) -> tuple[ConfigKey, ...]:
    """The keys of the pagination, not grouped."""
    return (
        choice_key(prefix + PAGINATION, tuple(PaginationKind), PaginationKind.NONE, _doc(prefix, PAGINATION)),
        text_key(prefix + NEXT, _doc(prefix, NEXT), check_pointer),
        text_key(prefix + MORE, _doc(prefix, MORE), check_pointer),
        text_key(prefix + END, _doc(prefix, END), check_pointer),
        text_key(prefix + RESUME, _doc(prefix, RESUME), check_pointer),
        text_key(prefix + PARAMETER, _doc(prefix, PARAMETER)),
        number_key(prefix + FIRST, 1, 0, _doc(prefix, FIRST)),
        number_key(prefix + SIZE, 0, 0, _doc(prefix, SIZE)),
        text_key(prefix + SIZE_PARAMETER, _doc(prefix, SIZE_PARAMETER)),
    )


def slice_keys(prefix: str) -> tuple[ConfigKey, ...]:
    """The keys of time slices, not grouped."""
    return (
        text_key(prefix + SLICE_START, _doc(prefix, SLICE_START), _check_time),
        _milliseconds(prefix, SLICE_STEP, 86_400_000, 1),
        ConfigKey(prefix + SLICE_FORMAT, ConfigType.STRING, "iso", Importance.MEDIUM, _doc(prefix, SLICE_FORMAT),
             _check_format, width=Width.MEDIUM, display_name=title(prefix + SLICE_FORMAT)),
        _milliseconds(prefix, SLICE_LOOKBACK, 0, 0),
        _milliseconds(prefix, SLICE_DELAY, 0, 0),
    )  # fmt: skip


def _milliseconds(prefix: str, name: str, default: int, lowest: int) -> ConfigKey:
    return ConfigKey(prefix + name, ConfigType.LONG, default, Importance.LOW, _doc(prefix, name),
             validators.between(lowest, _LONGEST), width=Width.SHORT, display_name=title(prefix + name))  # fmt: skip


def stream_keys(prefix: str) -> ConfigDef:
    """All keys with this prefix."""
    return ConfigDef(*grouped("Parents", 1, *request_keys(prefix), *page_keys(prefix), *slice_keys(prefix)))


def slices_of(settings: Mapping[str, Any]) -> Slices | None:
    """The time slices of a stream, by its typed settings without prefix; None if it has none."""
    if settings[SLICE_START] is None:
        return None
    step, lookback, delay = (
        dt.timedelta(milliseconds=settings[name]) for name in (SLICE_STEP, SLICE_LOOKBACK, SLICE_DELAY)
    )
    return Slices(parse_time(settings[SLICE_START]), step, TimeFormat(settings[SLICE_FORMAT]), lookback, delay)


def _doc(prefix: str, name: str) -> str:
    return _DOCS[name] if prefix == STREAM else f"As `{STREAM}{name}`, for the endpoint of the parents."


def _check_url(name: str, value: Any) -> None:
    if name != STREAM + URL and value is None:
        return
    if not (isinstance(value, str) and value.startswith(f"${{{PARENT_NAME}")):
        check_url(name, value)


def _check_time(name: str, value: Any) -> None:
    try:
        parse_time(value)
    except ValueError:
        raise invalid(name, value, "must be a time such as 2026-01-31T00:00:00Z") from None


def _check_format(name: str, value: Any) -> None:
    try:
        TimeFormat(value or "")
    except ConfigError as error:
        raise invalid(name, value, str(error)) from None


def _check_body(name: str, value: Any) -> None:
    try:
        JsonBody(value)
    except ConfigError as error:
        raise invalid(name, value, str(error)) from None
