"""GET /events: the worker's events as a stream (server-sent events), for consoles.

The first event is `snapshot` with every connector, unless the client's `Last-Event-ID` can be gone on from. Then come
`connector`, `removed` and `notice` as they happen, `progress` every few seconds with all connectors that got on, and a
comment each few seconds of silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from runtime.herder.errors import Unavailable
from runtime.herder.herder import Herder
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.status.events import EventLog
from runtime.rest.http.answers import dumps
from runtime.rest.security.masking import Masks

SILENCE = 10.0
"""Seconds after which a comment is sent, so that both sides notice a dead connection."""


MOST, MOST_OF_ONE = 128, 32
"""Streams at a time, of all clients and of one address, since each holds a connection without a time limit."""

_MEDIA = "text/event-stream"


class StreamPlaces:
    """Counts the streams."""

    def __init__(self) -> None:
        self._by_address: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Unavailable if there are too many streams."""
        if self._by_address[address] >= MOST_OF_ONE:
            raise Unavailable(f"{address} already has {MOST_OF_ONE} streams of events; poll instead, or close some")
        if self._by_address.total() >= MOST:
            raise Unavailable(f"There are already {MOST} streams of events; poll instead, or try again later")

    @contextmanager
    def taken(self, address: str) -> Iterator[None]:
        self._by_address[address] += 1
        try:
            yield
        finally:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


class _Streaming(StreamingResponse):
    """Counts as a stream while it is sent."""

    def __init__(self, content: AsyncIterator[bytes], places: StreamPlaces, address: str) -> None:
        super().__init__(content, media_type=_MEDIA, headers={"Cache-Control": "no-store"})
        self._places, self._address = places, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._places.taken(self._address):
            await super().__call__(scope, receive, send)


class EventStream:
    """Answers GET /events, to a bounded number of clients."""

    def __init__(self, log: EventLog, herder: Herder, progress: ProgressWatch, masks: Masks) -> None:
        self._log, self._herder, self._progress, self._masks = log, herder, progress, masks
        self._places = StreamPlaces()

    async def answer(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=_MEDIA)
        address = request.client.host if request.client else ""
        self._places.check(address)
        return _Streaming(self._stream(request.scope, request.headers.get("last-event-id")), self._places, address)

    async def _stream(self, scope: Scope, last_id: str | None) -> AsyncIterator[bytes]:
        after = self._log.resume_point(last_id)
        if after is None:
            after = self._log.last
            connectors = await self._masks.entries(scope, await self._herder.expanded({"status", "info"}))
            yield self._event(after, "snapshot", {"connectors": connectors, "progress": self._progress.all()})
        async for event in self._log.follow(after, SILENCE):
            if event is None:
                yield b":\n\n"
            else:
                data = await self._masks.entry(scope, event.data) if event.kind == "connector" else event.data
                yield self._event(event.seq, event.kind, data)

    def _event(self, seq: int, kind: str, data: dict[str, Any]) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self._log.id(seq).encode(), kind.encode(), dumps(data))
