"""GET /events: the worker's events as a stream (server-sent events), for consoles.

The first event is `snapshot` with every connector, unless the client's `Last-Event-ID` can be gone on from. Then come
`connector`, `removed` and `notice` as they happen, `progress` every few seconds with all connectors that got on, and a
comment each few seconds of silence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from runtime.herder.events import EventLog
from runtime.herder.herder import Herder
from runtime.herder.progress_watch import ProgressWatch

SILENCE = 10.0
"""Seconds after which a comment is sent, so that both sides notice a dead connection."""


class EventStream:
    """Answers GET /events; any number of clients at once."""

    def __init__(self, log: EventLog, herder: Herder, progress: ProgressWatch) -> None:
        self._log, self._herder, self._progress = log, herder, progress

    async def answer(self, request: Request) -> Response:
        stream = self._stream(request.headers.get("last-event-id"))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _stream(self, last_id: str | None) -> AsyncIterator[bytes]:
        after = self._log.resume_point(last_id)
        if after is None:
            after = self._log.last
            connectors = await self._herder.expanded({"status", "info"})
            yield self._event(after, "snapshot", {"connectors": connectors, "progress": self._progress.all()})
        async for event in self._log.follow(after, SILENCE):
            yield b":\n\n" if event is None else self._event(event.seq, event.kind, event.data)

    def _event(self, seq: int, kind: str, data: dict[str, Any]) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self._log.id(seq).encode(), kind.encode(), orjson.dumps(data))
