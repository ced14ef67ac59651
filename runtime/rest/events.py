"""GET /events: the worker's events as a stream (server-sent events), for consoles.

The first event is `snapshot` with every connector, unless the stream can resume after the client's `Last-Event-ID`.
`connector`, `removed` and `notice` events follow as they happen. A `progress` event every few seconds lists the
connectors that moved records. After `KEEPALIVE_INTERVAL` without an event a comment is sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from runtime.herder.errors import Unavailable
from runtime.herder.herder import Herder
from runtime.herder.monitoring.progress_watch import ProgressWatch
from runtime.herder.responses import EntryResponse
from runtime.herder.status.events import EventLog, WorkerEvent
from runtime.rest.forwarding.peer_events import PeerEvents
from runtime.rest.http.parameters import parameter
from runtime.rest.http.responses import dumps, json_response
from runtime.rest.security.callers import check_from_worker
from runtime.rest.security.masking import Masks

KEEPALIVE_INTERVAL = 10.0
"""Seconds after which a comment is sent, so that both sides notice a dead connection."""


MAX_STREAMS, MAX_STREAMS_PER_ADDRESS = 128, 32
"""Concurrent streams of all clients and of one address, limited because a stream occupies a connection without a time
limit."""

_MEDIA = "text/event-stream"


class StreamLimit:
    """Counts the open streams, in total and by client address."""

    def __init__(self) -> None:
        self._by_address: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Raises Unavailable if this address, or the worker, has the maximum number of streams."""
        if self._by_address[address] >= MAX_STREAMS_PER_ADDRESS:
            raise Unavailable(
                f"{address} already has {MAX_STREAMS_PER_ADDRESS} event streams; poll instead, or close some of them"
            )
        if self._by_address.total() >= MAX_STREAMS:
            raise Unavailable(
                f"This worker already serves {MAX_STREAMS} event streams; poll instead, or try again later"
            )

    @contextmanager
    def counted(self, address: str) -> Iterator[None]:
        """Counts one stream of this address for the length of the block."""
        self._by_address[address] += 1
        try:
            yield
        finally:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


class _Streaming(StreamingResponse):
    """A response that is counted as a stream while it is sent."""

    def __init__(self, content: AsyncIterator[bytes], limit: StreamLimit, address: str) -> None:
        super().__init__(content, media_type=_MEDIA, headers={"Cache-Control": "no-store"})
        self._limit, self._address = limit, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._limit.counted(self._address):
            await super().__call__(scope, receive, send)


class EventStream:
    """Answers GET /events for a limited number of clients."""

    def __init__(
        self, log: EventLog, herder: Herder, progress: ProgressWatch, masks: Masks, peers: PeerEvents | None = None
    ) -> None:
        """`peers`: the events of the other workers are sent, too."""
        self._log, self._herder, self._progress, self._masks, self._peers = log, herder, progress, masks, peers
        self._limit = StreamLimit()

    async def stream(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=_MEDIA)
        address = request.client.host if request.client else ""
        self._limit.check(address)
        return _Streaming(self._stream(request.scope, request.headers.get("last-event-id")), self._limit, address)

    async def own(self, request: Request) -> Response:
        """GET /events/own: this worker's notices and progress, for the other workers."""
        check_from_worker(request.scope)
        assert self._peers is not None
        return json_response(self._peers.own(parameter(request, "after")))

    async def _stream(self, scope: Scope, last_id: str | None) -> AsyncIterator[bytes]:
        async with self._peers.followed() if self._peers is not None else nullcontext():
            async for chunk in self._own_stream(scope, last_id):
                yield chunk

    async def _own_stream(self, scope: Scope, last_id: str | None) -> AsyncIterator[bytes]:
        after = self._log.resume_point(last_id)
        if after is None:
            after = self._log.last
            connectors = await self._masks.expanded(scope, await self._herder.expanded({"status", "info"}))
            snapshot = {
                "connectors": connectors,
                "progress": self._progress.all(),
                "changed_at": self._herder.changed_at(),
            }
            yield self._event(after, "snapshot", snapshot)
        async for event in self._log.follow(after, KEEPALIVE_INTERVAL):
            if event is None:
                yield b":\n\n"
            else:
                data = await self._data(scope, event)
                yield self._event(event.seq, event.kind, data)

    async def _data(self, scope: Scope, event: WorkerEvent) -> Mapping[str, object]:
        return (
            await self._masks.entry(scope, cast("EntryResponse", event.data))
            if event.kind == "connector"
            else event.data
        )

    def _event(self, seq: int, kind: str, data: Mapping[str, object]) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self._log.id(seq).encode(), kind.encode(), dumps(data))
