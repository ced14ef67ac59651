"""A stream of a JSON API: the records of one endpoint, or of one endpoint for each record of a parent stream."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConnectError
from runtime.config.properties import with_prefix
from runtime.connectors.http.json_values import JsonPointer, NoValueError
from runtime.connectors.http.source.json_body import JsonBody
from runtime.connectors.http.source.manifest.translation import NAME
from runtime.connectors.http.source.pages import (
    CURSOR_NAME,
    PARENT_NAME,
    Cursor,
    JsonPage,
    PagePointers,
    Pagination,
    PaginationKind,
    Values,
)
from runtime.connectors.http.source.slices import Slices
from runtime.connectors.http.source.stream_config import (
    BODY,
    CURSOR,
    CURSOR_INITIAL,
    END,
    FIRST,
    MORE,
    NEXT,
    PAGINATION,
    PARAMETER,
    PARAMETERS,
    RECORDS,
    RESUME,
    SIZE,
    SIZE_PARAMETER,
    STREAM,
    URL,
    has_parent,
    parents_of,
    slices_of,
    stream_keys,
)
from runtime.connectors.http.source.traversal import Traversal


@dataclass(frozen=True)
class Stream:
    """A configured stream, with its name in a manifest. `names`: the fields of the parent in its requests, such as
    `parent.id`, which identify a source partition."""

    name: str | None
    prefix: str
    url: str
    pagination: Pagination
    cursor: JsonPointer | None
    initial: str | None
    slices: Slices | None
    parent: Stream | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, config: Mapping[str, str], prefix: str = STREAM) -> Stream:
        """From a valid configuration."""
        settings = {name.removeprefix(prefix): value for name, value in stream_keys(prefix).parse(config).items()}
        parent = cls.of(config, parents_of(prefix)) if has_parent(config, prefix) else None
        pagination = Pagination(
            settings[URL],
            with_prefix(config, prefix + PARAMETERS),
            PaginationKind(settings[PAGINATION]),
            JsonPointer(settings[RECORDS]),
            PagePointers(*(_pointer(settings[name]) for name in (NEXT, MORE, END, RESUME))),
            settings[PARAMETER],
            settings[FIRST],
            settings[SIZE],
            settings[SIZE_PARAMETER],
            None if settings[BODY] is None else JsonBody(settings[BODY]),
            parent.origin if parent else None,
            prefix,
        )
        return cls(
            config.get(NAME),
            prefix,
            settings[URL],
            pagination,
            _pointer(settings[CURSOR]),
            settings[CURSOR_INITIAL],
            slices_of(settings),
            parent,
            tuple(sorted(name for name in pagination.names if name.startswith(PARENT_NAME))),
        )

    @property
    def origin(self) -> str:
        """The URL whose scheme, host and port receive the credentials: that of the parents if `url` is a field of
        them."""
        return self.parent.origin if self.parent and self.url.startswith(f"${{{PARENT_NAME}") else self.url

    @property
    def ancestry(self) -> list[Stream]:
        """The stream after its parent, after the parent of that, and so on."""
        return [*(self.parent.ancestry if self.parent else ()), self]

    def partition(self, values: Values) -> dict[str, Any]:
        """The source partition for a parent with these values: the URL without its query, and the values. That of a
        parent stream also has its level, since it is the position of a child in it."""
        return {**self.partition_of(self.prefix.removeprefix(STREAM).rstrip(".")), **{n: values[n] for n in self.names}}

    def partition_of(self, level: str) -> dict[str, Any]:
        """The source partition of all parents at a level; empty: of the stream itself."""
        named = {"stream": self.name, "level": level}
        return {
            "url": self.url.partition("?")[0].partition("#")[0],
            **{key: text for key, text in named.items() if text},
        }

    def check_partition(self, partition: Mapping[str, Any]) -> Stream | None:
        """The stream of the ancestry to which a source partition belongs; None if it belongs to none."""
        for stream in self.ancestry:
            values = {name: partition.get(name) for name in stream.names}
            if dict(partition) == stream.partition(values) and None not in values.values():
                return stream
        return None

    def beginning(self, offset: Mapping[str, Any] | None) -> Traversal:
        """The position at which reading starts with a committed offset."""
        position = Traversal()
        if offset is not None:
            with_cursor, with_slices = self.cursor is not None, self.slices is not None
            position = Traversal.of(offset, self.prefix, self.pagination, with_cursor, with_slices)
        return position._replace(cursor=self.initial) if position.cursor is None else position

    def values(self, at: Traversal) -> dict[str, Any]:
        """The values of the placeholders for a position, without those of the parent."""
        if self.slices is None or at.slice_start is None or at.slice_end is None:
            return {CURSOR_NAME: at.cursor}
        return {CURSOR_NAME: at.cursor, **self.slices.values(at.slice_start, at.slice_end)}

    def opened(self, at: Traversal, limit: dt.datetime) -> Traversal | None:
        """The position with the slice that begins there, none of which is after the limit; None if it would be
        empty."""
        if self.slices is None or at.slice_end is not None:
            return at
        window = self.slices.window(at.slice_start, limit)
        return window and at._replace(slice_start=window[0], slice_end=window[1])

    def after_page(self, at: Traversal, page: JsonPage, limit: dt.datetime) -> tuple[Traversal, bool]:
        """The position after the last record of a page, and whether the poll ends there: that of the next page, of the
        next slice or of the next poll."""
        if page.next is not None:
            return at._replace(page=page.next, records=0), page.last
        if self.slices is None or at.slice_end is None:
            return at.next_poll, True
        following = self.opened(Traversal(slice_start=at.slice_end), limit)
        return following or Traversal(slice_start=self.slices.next_poll(at.slice_end)), following is None

    def given_up(self, at: Traversal) -> Traversal:
        """The position from which a poll continues if the endpoint has no records for the parent at present."""
        return at.next_poll if self.slices is None else Traversal(slice_start=at.slice_start)

    def cursor_of(self, row: Any, before: Cursor) -> Cursor:
        """The cursor in a record; `before` if the record has none."""
        if self.cursor is None:
            return None
        value = self.cursor.get(row)
        if value is None:
            return before
        if not isinstance(value, str | int | float):
            raise ConnectError(f"{self.prefix}{CURSOR} does not point to a text or number in a record")
        return value


def _pointer(text: str | None) -> JsonPointer | None:
    return None if text is None else JsonPointer(text)


def parent_values(names: tuple[str, ...], levels: list[Any]) -> dict[str, Any] | None:
    """The values of `${parent.…}` placeholders. `levels`: the records of the ancestors, the parent last. None if one of
    the values is null; ConnectError if a record does not have the field."""
    values = {}
    for name in names:
        value = parent_value(name.removeprefix(PARENT_NAME), levels)
        if isinstance(value, dict | list):
            raise ConnectError(f"${{{name}}} is not a text or number in the records of the parents")
        values[name] = value
    return None if None in values.values() else values


def parent_value(path: str, levels: list[Any]) -> Any:
    """The value at a path such as `owner.login` in the parent, or `parent.id` in the parent of the parent."""
    above = list(levels)
    while len(above) > 1 and path.startswith(PARENT_NAME):
        above.pop()
        path = path.removeprefix(PARENT_NAME)
    try:
        return JsonPointer.of_path(path).find(above[-1])
    except NoValueError:
        placeholder = f"${{{PARENT_NAME}{path}}}"
        raise ConnectError(f"A record of the parents has no field {path}, which {placeholder} needs") from None
