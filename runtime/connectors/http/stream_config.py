"""The configuration keys of a stream: its requests, pages, cursor and time slices. The same keys with the prefix
`http.parent.` describe the endpoint of its parents, those with `http.parent.parent.` that of the parents of these."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.api.config import validators
from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.config.types import invalid
from runtime.api.errors import ConfigError
from runtime.connectors.http.json_body import JsonBody
from runtime.connectors.http.json_values import check_pointer
from runtime.connectors.http.pages import COUNTED, CURSOR_NAME, PAGE_NAME, PARENT_NAME, PaginationKind
from runtime.connectors.http.settings import check_url, choice_key, number_key, prefixed, text_key, title
from runtime.connectors.http.slices import SLICE_NAMES, Slices, TimeFormat, parse_time
from runtime.connectors.http.templates import TextTemplate

STREAM, PARENT = "http.", "http.parent."
"""The prefixes of the keys of the stream and of its parents."""

URL, BODY, RECORDS, PARAMETERS = "url", "body", "records.pointer", "parameter."
CURSOR, CURSOR_INITIAL = "cursor.pointer", "cursor.initial"
PAGINATION, NEXT, PARAMETER = "pagination", "pagination.next.pointer", "pagination.parameter"
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
    NEXT: "JSON pointer to the next URL or token in a response.",
    PARAMETER: "Query parameter for page, offset or token; by default its name.",
    FIRST: "Number of the first page with `page`.",
    SIZE: "Records of a full page; one with fewer is the last. 0: an empty page is the last.",
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


def add_stream_conflicts(by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
    """Adds the errors of keys that depend on each other, and those of the parents."""
    kind = by_name[prefix + PAGINATION].value
    following, size = by_name[prefix + NEXT], by_name[prefix + SIZE]
    if kind in (PaginationKind.NEXT_URL, PaginationKind.TOKEN) and not following.value and not following.errors:
        following.errors.append(f"{following.name} is required with {prefix}{PAGINATION}={kind}")
    if by_name[prefix + SIZE_PARAMETER].value and not size.value and not size.errors:
        size.errors.append(f"{size.name} is required with {prefix}{SIZE_PARAMETER}")
    _check_slices(by_name, prefix)
    _Placeholders(by_name, config, prefix).check()
    _check_parents(by_name, config, prefix)


def _check_slices(by_name: Mapping[str, ConfigValue], prefix: str) -> None:
    values = [by_name[key.name] for key in slice_keys(prefix)]
    slices = None
    if not any(value.errors for value in values):
        slices = slices_of({value.name.removeprefix(prefix): value.value for value in values})
    step, cursor = by_name[prefix + SLICE_STEP], by_name[prefix + CURSOR]
    if slices is not None and slices.step % slices.format.unit:
        step.errors.append(f"{step.name} must be a multiple of what {prefix}{SLICE_FORMAT} can express")
    if slices is not None and cursor.value:
        cursor.errors.append(f"Set either {cursor.name} or {prefix}{SLICE_START}")


def _check_parents(by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
    parents = parents_of(prefix)
    keys = sorted(name for name in config if name.startswith(parents))
    url = by_name[PARENT + URL]
    if keys and not has_parent(config, prefix):
        url.errors.append(f"{parents}{URL} is required with {keys[0]}")
    elif keys and prefix == STREAM:
        add_stream_conflicts(by_name, config, parents)
    elif keys:  # parents of parents: their keys are not part of the connector's definition
        values = stream_keys(parents).validate(config)
        add_stream_conflicts({**by_name, **{value.name: value for value in values}}, config, parents)
        url.errors += [error for value in values for error in value.errors]


class _Placeholders:
    """Checks the placeholders in the URL, the parameters and the body of a stream."""

    def __init__(self, by_name: Mapping[str, ConfigValue], config: Mapping[str, str], prefix: str) -> None:
        self._by_name, self._prefix = by_name, prefix
        self._has_parent = has_parent(config, prefix)
        self._sliced = by_name[prefix + SLICE_START].value is not None
        self._parameters = prefixed(config, prefix + PARAMETERS)
        self._url, self._body = self._names(URL), self._names(BODY)
        self._used = {*self._url, *self._body}
        for text in self._parameters.values():
            self._used.update(TextTemplate(text).names)

    def check(self) -> None:
        """Adds the errors."""
        self._check_known(self._prefix + URL, URL, self._url, ())
        self._check_known(self._prefix + BODY, BODY, self._body, (PAGE_NAME,))
        for name, text in self._parameters.items():
            self._check_known(f"{self._prefix}{PARAMETERS}{name}", URL, TextTemplate(text).names, ())
        if PAGE_NAME in self._body and self._value(PAGINATION).value not in (kinds := (PaginationKind.TOKEN, *COUNTED)):
            self._add(
                BODY, f"${{{PAGE_NAME}}} in {self._prefix}{BODY} needs {self._prefix}{PAGINATION}={', '.join(kinds)}"
            )
        if self._has_parent and not any(name.startswith(PARENT_NAME) for name in self._used):
            self._add(
                URL, f"Use ${{{PARENT_NAME}<field>}} in {self._places()}: otherwise all parents have the same records"
            )
        if self._sliced and not self._used & {*SLICE_NAMES}:
            self._add(SLICE_START, f"Use ${{{SLICE_NAMES[0]}}} and ${{{SLICE_NAMES[1]}}} in {self._places()}")
        self._check_cursor()

    def _check_cursor(self) -> None:
        uses, cursor = CURSOR_NAME in self._used, self._value(CURSOR)
        if uses and not cursor.value and not cursor.errors:
            cursor.errors.append(f"{cursor.name} is required by ${{{CURSOR_NAME}}}")
        if cursor.value and not uses:
            cursor.errors.append(f"Use ${{{CURSOR_NAME}}} in {self._places()}")
        initial = self._value(CURSOR_INITIAL)
        if CURSOR_NAME in self._url and initial.value is None:
            initial.errors.append(f"{initial.name} is required by ${{{CURSOR_NAME}}} in {self._prefix}{URL}")

    def _check_known(self, key: str, at: str, names: Iterable[str], more: tuple[str, ...]) -> None:
        known = (CURSOR_NAME, *more, *(SLICE_NAMES if self._sliced else ()))
        for name in names:
            if name in known or (self._has_parent and name.startswith(PARENT_NAME) and name != PARENT_NAME):
                continue
            choices = [*known, PARENT_NAME + "<field>"] if self._has_parent else known
            reason = f"${{{name}}} is unknown; use " + ", ".join(f"${{{choice}}}" for choice in choices)
            if name.startswith(PARENT_NAME) and not self._has_parent:
                reason = f"${{{name}}} needs {parents_of(self._prefix)}{URL}"
            elif name in SLICE_NAMES:
                reason = f"${{{name}}} needs {self._prefix}{SLICE_START}"
            self._add(at, f"Invalid value for configuration {key}: {reason}")

    def _places(self) -> str:
        return f"{self._prefix}{URL}, {self._prefix}{BODY} or a key {self._prefix}{PARAMETERS}<name>"

    def _value(self, name: str) -> ConfigValue:
        return self._by_name[self._prefix + name]

    def _names(self, name: str) -> tuple[str, ...]:
        value = self._value(name)
        return TextTemplate(value.value).names if value.value and not value.errors else ()

    def _add(self, name: str, error: str) -> None:
        self._value(name).errors.append(error)
