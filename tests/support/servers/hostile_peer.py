"""A member of a worker group that records every request it receives, and answers with any bytes."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"


@dataclass
class Received:
    """One request. Names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class HostilePeer:
    """`response` is sent to every request, after `delay` seconds, then `endless` again and again, with
    pauses, until the other side closes."""

    url: str = ""
    response: bytes = EMPTY
    endless: bytes = b""
    delay: float = 0.0
    pause: float = 0.0
    requests: list[Received] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.url.partition("://")[2].rstrip("/")

    async def answer(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            self.requests.append(await _read(reader))
            await asyncio.sleep(self.delay)
            writer.write(self.response)
            await writer.drain()
            while self.endless:
                writer.write(self.endless)
                await writer.drain()
                await asyncio.sleep(self.pause)
        writer.close()


async def _read(reader: StreamReader) -> Received:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, target, _ = first.split()
    return Received(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def json_reply(body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def hostile_peer() -> AsyncIterator[HostilePeer]:
    """A peer on a free port of loopback, for the length of the block."""
    peer = HostilePeer()
    async with await asyncio.start_server(peer.answer, "127.0.0.1", 0) as server:
        peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield peer
