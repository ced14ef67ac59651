"""A Connect worker whose answers a test determines, including answers that a real worker never sends.

python -m tests.support.servers.stub_worker [PORT] runs until interrupted, to try the console by hand; prints its URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

HANG = object()  # the request is received, but never answered
LIST = "/connectors?expand=status&expand=info"


class Raw(NamedTuple):
    """A body of raw bytes with a status, sent `chunk` bytes at a time with pauses of `pause` seconds."""

    body: bytes
    status: int = 200
    kind: str = "application/json"
    chunk: int = 1 << 20
    pause: float = 0.0


def listed(name: str, state: str = "RUNNING", config: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An entry of the list of connectors, with one task."""
    one = {"state": state, "worker_id": "w:8083", "version": "4.3.0"}
    status = {"name": name, "connector": one, "tasks": [{"id": 0, **one}], "type": "sink"}
    settings = {"connector.class": "a.b.FileStreamSink", "topics": "t", **(config or {})}
    return {"status": status, "info": {"name": name, "config": settings, "tasks": [], "type": "sink"}}


class StubWorker:
    """Serves on the running event loop. `answers` by path (with its query), or by method and path; `fallback` for
    others."""

    def __init__(self, answers: Mapping[str, Any], fallback: Any = None) -> None:
        self.answers = dict(answers)
        self.fallback = Raw(b'{"error_code":404,"message":"HTTP 404 Not Found"}', 404) if fallback is None else fallback
        self.seen: list[tuple[str, str]] = []
        self._news = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def received(self, method: str, path: str, within: float = 20.0) -> None:
        """Waits until this request has been received."""
        async with asyncio.timeout(within):
            while (method, path) not in self.seen:
                self._news.clear()
                await self._news.wait()

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _one(self, reader: StreamReader, writer: StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split("\r\n")[0].split()
        lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
        await reader.readexactly(int(lengths[0].partition(":")[2]) if lengths else 0)
        self.seen.append((method, path))
        self._news.set()
        answer = self.answers.get(f"{method} {path}", self.answers.get(path, self.fallback))
        if answer is HANG:
            await asyncio.Event().wait()
        raw = answer if isinstance(answer, Raw) else Raw(json.dumps(answer).encode())
        writer.write(f"HTTP/1.1 {raw.status} X\r\nContent-Type: {raw.kind}\r\n".encode())
        writer.write(f"Content-Length: {len(raw.body)}\r\n\r\n".encode())
        for at in range(0, len(raw.body), raw.chunk):
            writer.write(raw.body[at : at + raw.chunk])
            await writer.drain()
            await asyncio.sleep(raw.pause)
        await writer.drain()
        return True


@asynccontextmanager
async def stub_worker(answers: Mapping[str, Any], fallback: Any = None, port: int = 0) -> AsyncIterator[StubWorker]:
    worker = StubWorker(answers, fallback)
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await worker.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    worker.port = server.sockets[0].getsockname()[1]
    try:
        yield worker
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _by_hand() -> None:
    given = json.loads(sys.stdin.read() or "{}")
    async with stub_worker(given, port=int(sys.argv[1]) if sys.argv[1:] else 0) as worker:
        print(worker.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_by_hand())
