"""The way of a poll through the pages of a stream, and before that through those of its parents.

The parents are walked like the stream itself: each level has its own position, and a parent is done when its children,
and those of the parents before it, have been read. So the positions of all levels say where to continue, after a
restart too. The children of some parents that follow one another on a page are read at the same time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from runtime.api.task import Partition
from runtime.connectors.http.endpoint import HttpReply
from runtime.connectors.http.source.level import Level
from runtime.connectors.http.source.pages import JsonPage, PageRequest
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


class Walk:
    """Polls of a stream, one after another. After begin(), send request() for each level that is `waiting`, hand the
    responses to receive(), and take() the records, until the poll has `ended`."""

    def __init__(
        self,
        stream: Stream,
        positions: StreamPositions,
        clean: Callable[[str], str],
        now: Callable[[], dt.datetime],
        open_parents: int = 1,
    ) -> None:
        """`clean` removes credentials from the URLs of pages, which become offsets; `now` ends the last time slice;
        `open_parents`: how many may be open at a time. Raises ConnectError for an offset that does not fit the
        stream."""
        self._stream, self._positions, self._clean, self._now = stream, positions, clean, now
        self._ancestry, self._open_parents = stream.ancestry, open_parents
        self._above: list[Level] = []  # of the ancestors
        self._reading: list[Level | None] = []  # of the stream, for consecutive parents; None: a parent without records
        self._conditions: dict[str, Mapping[str, str]] = {}
        self._outermost()

    def begin(self) -> None:
        """Starts a poll, which ends at once if no time slice has passed since the last one."""
        self._push(self._outermost())
        self._settle()

    def _outermost(self) -> Level:
        return Level(self._ancestry[0], [], {}, self._positions, self._now())

    @property
    def ended(self) -> bool:
        """Whether the poll has been read to its end."""
        return not self._above and not self._reading

    @property
    def waiting(self) -> list[Level]:
        """The levels whose next page has not been read yet, in the order of their parents."""
        return [level for level in self._reading or self._above[-1:] if level is not None and level.waits]

    def request(self, level: Level) -> tuple[PageRequest, Mapping[str, str]]:
        """The request for the next page, and headers that ask whether it has changed."""
        request = level.request()
        first = level.at.page is None and request.body is None and level.stream is self._stream
        return request, self._conditions.get(request.url, {}) if first else {}

    def receive(self, level: Level, reply: HttpReply, url: str) -> None:
        """The response to the request."""
        if reply.status == 304:
            level.open(JsonPage([], None))
        else:
            page = level.stream.pagination.page_of(reply, url, level.at.page, self._clean)
            if level.at.page is None:
                level.opened = (url, _conditions(reply))
            level.open(page)
            self._load_children(level)
        self._settle()

    def vanished(self, level: Level) -> None:
        """The endpoint has responded that the parent, or its records, do not exist."""
        level.abandon()
        self._settle()

    def take(self, limit: int) -> StreamRows | None:
        """The next records of the first parent of which some have arrived; None if there are none."""
        level = next((level for level in self._reading if level is not None and level.page is not None), None)
        if level is None:
            return None
        rows, positions = level.take(limit)
        self._settle()
        return StreamRows(level.partition, rows, positions, level.parents)

    def _settle(self) -> None:
        """Moves to the next pages to request, or to the next records, or to the end of the poll."""
        while self._close() or self._open():
            pass

    def _close(self) -> bool:
        """Closes the innermost level if it has ended, that of the first parent. The parent is done then."""
        if self._reading:
            level = self._reading[0]
            if level is not None and not level.ended:
                return False
            self._keep_conditions(level)
            del self._reading[0]
        elif self._above and self._above[-1].ended:
            self._above.pop()
        else:
            return False
        if self._above:
            self._above[-1].done()
        return True

    def _open(self) -> bool:
        """Opens the level of the next parent on the page, unless enough of them are open. A parent without a value for
        a placeholder has no records. Of parents with the same values, one after another is read."""
        if not self._above or len(self._reading) == self._open_parents:
            return False
        parent, child = self._above[-1], self._ancestry[len(self._above)]
        place = parent.at.records + len(self._reading)
        if parent.page is None or place >= len(parent.page.records):
            return False
        rows = [*parent.parents, parent.page.records[place]]
        values = parent_values(child.names, rows)
        if values is None:
            self._reading.append(None)
            return True
        partition = child.partition(values)
        if any(level is not None and level.partition == partition for level in self._reading):
            return False
        self._push(Level(child, rows, values, self._positions, self._now()))
        return True

    def _push(self, level: Level) -> None:
        (self._reading if level.stream is self._stream else self._above).append(level)

    def _keep_conditions(self, level: Level | None) -> None:
        if level is None or level.opened is None or not level.opened[1] or self._stream.slices is not None:
            return
        self._conditions.pop(level.opened[0], None)
        self._conditions[level.opened[0]] = level.opened[1]
        if len(self._conditions) > _MOST_CONDITIONS:
            del self._conditions[next(iter(self._conditions))]

    def _load_children(self, level: Level) -> None:
        """Reads the offsets of all children of a page at once."""
        if level.page is None or level.stream is self._stream:
            return
        child = self._ancestry[len(self._above)]
        rows = level.page.records[level.at.records :]
        values = [parent_values(child.names, [*level.parents, row]) for row in rows]
        self._positions.load([child.partition(of_row) for of_row in values if of_row is not None])


def _conditions(reply: HttpReply) -> dict[str, str]:
    names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    return {condition: reply.headers[name] for name, condition in names.items() if name in reply.headers}
