"""The reading of one stream for one parent: its page, and the position on it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from runtime.api.errors import ConnectError
from runtime.connectors.http.source.pages import JsonPage, PageRequest, PageToken, Values
from runtime.connectors.http.source.positions import StreamPositions
from runtime.connectors.http.source.stream import Stream
from runtime.connectors.http.source.traversal import Traversal


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
            shown = str(page.next).partition("?")[0]  # the query of a URL may be secret
            raise ConnectError(f"The response names a page as the next one that was read before: {shown}")
        self._steps += 1
        if self._steps == self._limit:
            self._kept, self._steps, self._limit = page.next, 0, self._limit * 2


class Level:
    """The reading of one stream for one parent."""

    def __init__(
        self, stream: Stream, parents: list[Any], values: Values, positions: StreamPositions, now: dt.datetime
    ) -> None:
        """`parents`: the records of the ancestors, the parent last; `values`: of the placeholders for them."""
        self.stream, self.parents, self.values = stream, parents, values
        self.partition = stream.partition(values)
        self._positions = positions
        self._limit = stream.slices.limit(now) if stream.slices else now
        at = stream.beginning(positions.offset(self.partition))
        opened = stream.opened(at, self._limit)
        self.at, self.ended = opened or at, opened is None
        self.page: JsonPage | None = None
        self.opened: tuple[str, Mapping[str, str]] | None = None  # the first page of this poll
        self._circle = _Circle()

    @property
    def is_child(self) -> bool:
        """Whether the records are those of a record of another stream."""
        return bool(self.parents)

    @property
    def waits(self) -> bool:
        """Whether the next records are on a page that has not been read yet."""
        return self.page is None and not self.ended

    @property
    def after_slice(self) -> str | None:
        """Where the poll after this time slice begins; None without slices."""
        slices, end = self.stream.slices, self.at.slice_end
        return None if slices is None or end is None else slices.next_poll(end)

    def request(self) -> PageRequest:
        """The request for that page."""
        return self.stream.pagination.request({**self.values, **self.stream.values(self.at)}, self.at.page)

    def open(self, page: JsonPage) -> None:
        """The page has arrived."""
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
