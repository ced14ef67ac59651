"""The way of a poll through the pages of a stream, and before that through those of its parents.

The parents are walked like the stream itself: each level has its own position, and a parent is done when its children
have been read. So the positions of all levels say where to continue, after a restart too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError
from runtime.api.task import Partition
from runtime.connectors.http.endpoint import HttpReply
from runtime.connectors.http.source.pages import JsonPage, PageRequest, PageToken, Values
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.stream import Stream, parent_values
from runtime.connectors.http.source.traversal import Traversal

_MOST_CONDITIONS = 10_000  # URLs whose ETags are kept


class StreamRows(NamedTuple):
    """Records of one source partition, and the position after each of them. `parents`: the records of the ancestors."""

    partition: Partition
    rows: list[Any]
    positions: list[Traversal]
    parents: list[Any]


class _Circle:
    """Finds pages that lead back to an earlier one, however large the circle (Brent's algorithm)."""

    def __init__(self) -> None:
        self._kept: PageToken = None
        self._steps, self._limit = 0, 1

    def check(self, now: PageToken, page: JsonPage) -> None:
        """ConnectError if the page behind the page at `now` has been read before in this poll."""
        if page.next is None or page.last:
            return
        if page.next in (now, self._kept):
            raise ConnectError(f"The response names a page as the next one that was read before: {page.next}")
        self._steps += 1
        if self._steps == self._limit:
            self._kept, self._steps, self._limit = page.next, 0, self._limit * 2


class _Level:
    """The reading of one stream for one parent."""

    def __init__(self, stream: Stream, values: Values, positions: StreamPositions, now: dt.datetime) -> None:
        self.stream, self.values = stream, values
        self.partition = stream.partition(values)
        self._positions = positions
        self._limit = stream.slices.limit(now) if stream.slices else now
        at = stream.beginning(positions.offset(self.partition))
        opened = stream.opened(at, self._limit)
        self.at, self.ended = opened or at, opened is None
        self.page: JsonPage | None = None
        self.opened: tuple[str, Mapping[str, str]] | None = None  # the first page of this poll
        self._circle = _Circle()

    def request(self) -> PageRequest:
        return self.stream.pagination.request({**self.values, **self.stream.values(self.at)}, self.at.page)

    @property
    def row(self) -> Any:
        """The next record."""
        assert self.page is not None
        return self.page.records[self.at.records]

    def open(self, page: JsonPage) -> None:
        if self.at.page is None:  # of a poll or of a time slice
            self._circle = _Circle()
        self._circle.check(self.at.page, page)
        self.page = page
        if self.at.records >= len(page.records):
            self._turn()
            self._positions.moved(self.partition, self.at.offset())

    def take(self, limit: int) -> tuple[list[Any], list[Traversal]]:
        """The next records and the positions after them, which become their offsets."""
        rows, positions = self._take(limit)
        self._positions.reached(self.partition, self.at.offset())
        return rows, positions

    def _take(self, limit: int) -> tuple[list[Any], list[Traversal]]:
        """The position after the last record of a page is the beginning of the next page or poll."""
        assert self.page is not None
        rows = self.page.records[self.at.records : self.at.records + limit]
        positions = []
        for n, row in enumerate(rows, self.at.records + 1):
            self.at = self.at._replace(records=n, next_cursor=self.stream.cursor_of(row, self.at.next_cursor))
            positions.append(self.at)
        if self.at.records >= len(self.page.records):
            self._turn()
            positions[-1] = self.at
        return rows, positions

    def done(self) -> None:
        """The children of the next record have been read."""
        self._take(1)
        self._positions.moved(self.partition, self.at.offset())

    def abandon(self) -> None:
        """The endpoint has no records for the parent any more."""
        self.at, self.page, self.ended = self.stream.given_up(self.at), None, True
        self._positions.moved(self.partition, self.at.offset())

    def _turn(self) -> None:
        assert self.page is not None
        self.at, self.ended = self.stream.after_page(self.at, self.page, self._limit)
        self.page = None


class Walk:
    """Polls of a stream, one after another. After begin(), alternate request() and receive() while `needs_page`, and
    take(), until it has `ended`."""

    def __init__(
        self, stream: Stream, positions: StreamPositions, clean: Callable[[str], str], now: Callable[[], dt.datetime]
    ) -> None:
        """`clean` removes credentials from the URLs of pages, which become offsets; `now` ends the last time slice.
        Raises ConnectError for an offset that does not fit the stream."""
        self._stream, self._positions, self._clean, self._now = stream, positions, clean, now
        self._ancestry = stream.ancestry
        self._levels: list[_Level] = []
        self._conditions: dict[str, Mapping[str, str]] = {}
        self._outermost()

    def begin(self) -> None:
        """Starts a poll, which ends at once if no time slice has passed since the last one."""
        self._levels = [self._outermost()]
        self._settle()

    def _outermost(self) -> _Level:
        return _Level(self._ancestry[0], {}, self._positions, self._now())

    @property
    def ended(self) -> bool:
        """Whether the poll has been read to its end."""
        return not self._levels

    @property
    def is_child(self) -> bool:
        """Whether the next page is that of a record of another stream."""
        return len(self._levels) > 1

    @property
    def needs_page(self) -> bool:
        """Whether the next records are on a page that has not been read yet."""
        return bool(self._levels) and self._levels[-1].page is None

    def request(self) -> tuple[PageRequest, Mapping[str, str]]:
        """The request for the next page, and headers that ask whether it has changed."""
        level = self._levels[-1]
        request = level.request()
        first = level.at.page is None and request.body is None and level.stream is self._stream
        return request, self._conditions.get(request.url, {}) if first else {}

    def receive(self, reply: HttpReply, url: str) -> None:
        """The response to the request."""
        level = self._levels[-1]
        if reply.status == 304:
            level.open(JsonPage([], None))
        else:
            page = level.stream.pagination.page_of(reply, url, level.at.page, self._clean)
            if level.at.page is None:
                level.opened = (url, _conditions(reply))
            level.open(page)
            self._load_children(level)
        self._settle()

    def vanished(self) -> None:
        """The endpoint has responded that the parent, or its records, do not exist."""
        self._levels[-1].abandon()
        self._settle()

    def take(self, limit: int) -> StreamRows:
        """The next records, at least one."""
        level = self._levels[-1]
        parents = [above.row for above in self._levels[:-1]]
        rows, positions = level.take(limit)
        self._settle()
        return StreamRows(level.partition, rows, positions, parents)

    def _settle(self) -> None:
        """Moves to the next page to request, or to the next records, or to the end of the poll."""
        while self._levels:
            level = self._levels[-1]
            if level.ended:
                self._leave(level)
            elif level.page is None or level.stream is self._stream:
                return
            else:
                self._enter(level)

    def _leave(self, level: _Level) -> None:
        kept = level.stream is self._stream and level.stream.slices is None
        if kept and level.opened is not None and level.opened[1]:
            self._conditions.pop(level.opened[0], None)
            self._conditions[level.opened[0]] = level.opened[1]
            if len(self._conditions) > _MOST_CONDITIONS:
                del self._conditions[next(iter(self._conditions))]
        self._levels.pop()
        if self._levels:
            self._levels[-1].done()

    def _enter(self, level: _Level) -> None:
        """Begins the records of the next parent. A parent without a value for a placeholder has none."""
        child = self._ancestry[len(self._levels)]
        values = parent_values(child.names, [upper.row for upper in self._levels])
        if values is None:
            level.done()
        else:
            self._levels.append(_Level(child, values, self._positions, self._now()))

    def _load_children(self, level: _Level) -> None:
        """Reads the offsets of all children of a page at once."""
        if level.page is None or level.stream is self._stream:
            return
        child = self._ancestry[len(self._levels)]
        above = [upper.row for upper in self._levels[:-1]]
        values = [parent_values(child.names, [*above, row]) for row in level.page.records[level.at.records :]]
        self._positions.load([child.partition(of_row) for of_row in values if of_row is not None])


def _conditions(reply: HttpReply) -> dict[str, str]:
    names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    return {condition: reply.headers[name] for name, condition in names.items() if name in reply.headers}
