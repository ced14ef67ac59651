"""The HttpSource connector: task and offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from typing import Any, NamedTuple

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition, SourceTask
from runtime.connectors.http.endpoint import HttpEndpoint, HttpReply
from runtime.connectors.http.failures import RetryPolicy, TemporaryError
from runtime.connectors.http.json_body import JsonBody
from runtime.connectors.http.json_values import JsonPointer, NoValueError
from runtime.connectors.http.pages import Cursor, JsonPage, Pagination, PaginationKind
from runtime.connectors.http.settings import URL, EndpointSettings, prefixed
from runtime.connectors.http.source_config import (
    BODY,
    CURSOR,
    CURSOR_INITIAL,
    FIRST,
    INTERVAL,
    KEY,
    NEXT,
    PAGINATION,
    PARAMETER,
    PARAMETER_PREFIX,
    RECORDS,
    SIZE,
    SIZE_PARAMETER,
    SOURCE_KEYS,
    TOPIC,
    source_settings,
    source_values,
)
from runtime.connectors.http.templates import as_text
from runtime.connectors.http.traversal import Traversal

_WAIT = 0.2  # seconds that poll() waits for a response
_LONGEST_IDLE = 0.5  # seconds between two polls
_BATCH = 2000  # records of one batch

_log = logging.getLogger(__name__)


class _FirstPage(NamedTuple):
    """The first page of a poll that was read to its end: its URL, and the headers that ask whether it has changed."""

    url: str
    headers: Mapping[str, str]


class HttpSourceTask(SourceTask):
    """Polls one API. A poll reads all its pages; the next poll begins after the interval."""

    timestamps_are_now = True
    _endpoint: HttpEndpoint | None = None
    _thread: ThreadPoolExecutor | None = None

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds determines when the next request is due."""
        super().__init__()
        self._clock = clock

    def start(self, config: Mapping[str, str]) -> None:
        settings = source_settings(config)
        self._topic: str = settings[TOPIC]
        self._interval = settings[INTERVAL] / 1000
        self._key = None if settings[KEY] is None else JsonPointer(settings[KEY])
        self._cursor = None if settings[CURSOR] is None else JsonPointer(settings[CURSOR])
        self._retry = RetryPolicy.of(settings)
        self._pagination = pagination_of(settings, config)
        self._partition = source_partition(settings)
        offset = self.context.offsets.offset(self._partition)
        self._at = Traversal(cursor=settings[CURSOR_INITIAL])
        if offset is not None:
            self._at = Traversal.of(offset, self._pagination, self._cursor is not None)
            if self._at.cursor is None:
                self._at = self._at._replace(cursor=settings[CURSOR_INITIAL])
        self._endpoint = HttpEndpoint(EndpointSettings.of(settings, config), 1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="http-source")
        self._response: Future[tuple[str, HttpReply]] | None = None
        self._page: JsonPage | None = None
        self._first_page: _FirstPage | None = None
        self._opened: _FirstPage | None = None  # of the current poll
        self._attempts, self._due = 0, self._clock()

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._page is None and not self._next_page():
            return None
        assert self._page is not None
        page, at = self._page, self._at
        rows = page.records[at.records : at.records + _BATCH]
        end = at.records + len(rows)
        complete = end >= len(page.records)
        positions = self._positions(rows)
        self._at = positions[-1] if positions else at
        if complete:
            self._turn_page(page, bool(rows))
        return self._batch(rows, positions) if rows else None

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
        if self._endpoint is not None:
            self._endpoint.close()

    def _positions(self, rows: Sequence[Any]) -> list[Traversal]:
        """The position after each record."""
        positions = []
        at = self._at
        for n, row in enumerate(rows, self._at.records + 1):
            at = at._replace(records=n, next_cursor=self._cursor_of(row, at.next_cursor))
            positions.append(at)
        return self._after_page(positions)

    def _after_page(self, positions: list[Traversal]) -> list[Traversal]:
        """The position after the last record of a page is the beginning of the next page or poll."""
        page = self._page
        if positions and page is not None and positions[-1].records >= len(page.records):
            last = positions[-1]
            following = last.after_last_page() if page.next is None else last._replace(page=page.next, records=0)
            positions[-1] = following
        return positions

    def _turn_page(self, page: JsonPage, moved: bool) -> None:
        """Ends a page. `moved`: the position after its last record is already that of the next page or poll."""
        self._page = None
        if not moved:
            at = self._at
            self._at = at.after_last_page() if page.next is None else at._replace(page=page.next, records=0)
        if page.next is None:
            self._first_page = self._opened
            self._due = self._clock() + self._interval

    def _batch(self, rows: list[Any], positions: list[Traversal]) -> SourceBatch:
        batch = SourceBatch(
            self._partition,
            lambda n: positions[n].offset(),
            self._topic,
            ValueBatch(None, rows),
            int(time.time() * 1000),
        )
        if self._key is not None:
            batch.keys = ValueBatch(OPTIONAL_STRING_SCHEMA, [_key(self._key, row) for row in rows])
        return batch

    def _cursor_of(self, row: Any, before: Cursor) -> Cursor:
        if self._cursor is None:
            return None
        try:
            value = self._cursor.find(row)
        except NoValueError:
            value = None
        if value is None:
            return before
        if not isinstance(value, str | int | float):
            raise ConnectError(f"{CURSOR} does not point to a text or number in a record")
        return value

    def _next_page(self) -> bool:
        """Whether a page has arrived."""
        if self._response is None:
            wait = self._due - self._clock()
            if wait > 0:
                self.idle_poll = min(wait, _LONGEST_IDLE)
                return False
            self._request()
        assert self._response is not None
        self.idle_poll = 0.01
        try:
            url, reply = self._response.result(_WAIT)
            self._response = None
            self._page = self._page_in(url, reply)
        except NotYetError:
            return False
        except TemporaryError as error:
            self._response = None
            self._failed(error)
            return False
        self._attempts = 0
        return True

    def _page_in(self, url: str, reply: HttpReply) -> JsonPage:
        if reply.status == 304:
            return JsonPage([], None)
        page = self._safe(self._pagination.page_of(reply, url, self._at.page))
        if self._at.page is None:
            self._opened = _FirstPage(url, _conditions(reply))
        return page

    def _request(self) -> None:
        assert self._thread is not None and self._endpoint is not None
        endpoint = self._endpoint
        url = self._pagination.request_url(self._at.cursor, self._at.page)
        headers = {"Accept": "application/json"}
        body = self._pagination.request_body(self._at.cursor, self._at.page)
        method = "GET" if body is None else "POST"
        if body is not None:
            headers["Content-Type"] = "application/json"
        elif self._at.page is None and self._first_page is not None and self._first_page.url == url:
            headers |= self._first_page.headers
        self._response = self._thread.submit(lambda: (url, endpoint.send(method, url, body, headers)))

    def _failed(self, error: TemporaryError) -> None:
        self._attempts += 1
        if self._retry.exhausted(self._attempts):
            raise ConnectError(f"{error} ({self._attempts} attempts)") from error
        delay = self._retry.delay(self._attempts, error)
        _log.warning("%s; repeated in %.1f s", error, delay)
        self._due = self._clock() + delay

    def _safe(self, page: JsonPage) -> JsonPage:
        """The page, whose next URL becomes an offset and must not show credentials."""
        assert self._endpoint is not None
        if self._pagination.kind in (PaginationKind.LINK, PaginationKind.NEXT_URL) and page.next is not None:
            return page._replace(next=self._endpoint.without_secrets(str(page.next)))
        return page


def pagination_of(settings: Mapping[str, Any], config: Mapping[str, str]) -> Pagination:
    """The pagination of a valid configuration."""
    return Pagination(
        settings[URL],
        prefixed(config, PARAMETER_PREFIX),
        PaginationKind(settings[PAGINATION]),
        JsonPointer(settings[RECORDS]),
        None if settings[NEXT] is None else JsonPointer(settings[NEXT]),
        settings[PARAMETER],
        settings[FIRST],
        settings[SIZE],
        settings[SIZE_PARAMETER],
        None if settings[BODY] is None else JsonBody(settings[BODY]),
    )


def source_partition(settings: Mapping[str, Any]) -> dict[str, str]:
    """The source partition: the URL without its query."""
    return {"url": str(settings[URL]).partition("?")[0].partition("#")[0]}


def _conditions(reply: HttpReply) -> dict[str, str]:
    names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    return {condition: reply.headers[name] for name, condition in names.items() if name in reply.headers}


def _key(pointer: JsonPointer, row: Any) -> str | None:
    try:
        value = pointer.find(row)
    except NoValueError:
        return None
    if isinstance(value, dict | list):
        raise ConnectError(f"{KEY} does not point to a text or number in a record")
    return None if value is None else as_text(value)


class HttpSourceConnector(SourceConnector):
    """Polls a JSON API with one task."""

    java_name = "headrace.HttpSourceConnector"
    task_class = HttpSourceTask
    config_def = SOURCE_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return source_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        source_settings(config)
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Partition | None, Offset | None]]
    ) -> bool:
        """Accepts the partition `{"url": …}` of the configuration and offsets as in `Traversal`."""
        settings = source_settings(config)
        expected = source_partition(settings)
        for partition, offset in offsets:
            if offset is None:
                continue  # a reset is valid for any partition, such as that of an earlier URL
            if partition is None or dict(partition) != expected:
                raise ConnectError(f"The source partition of this configuration is {expected}, not {partition}")
            Traversal.of(offset, pagination_of(settings, config), settings[CURSOR] is not None)
        return True
