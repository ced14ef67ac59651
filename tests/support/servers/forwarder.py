"""A TCP forwarder that can be stopped with all its connections and restarted on the same port, or frozen."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from types import TracebackType
from urllib.parse import urlsplit


class Forwarder:
    """Runs on the current event loop, on a port of loopback, in front of the host and port of a URL."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._writers: set[StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.port = 0
        self.dies_at_answer = False  # the next request is forwarded, its answer is not
        self.dies_of: bytes | None = None  # the same for the first request that contains these bytes

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Forwarder:
        await self.revive()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.die()

    async def revive(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    def leads_to(self, url: str) -> None:
        """New connections lead to this host and port."""
        self._there = urlsplit(url)

    def die(self) -> None:
        self.dies_at_answer = False
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    def freeze(self) -> None:
        """Connections stay open and nothing arrives, in both directions, as behind a cut network."""
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    async def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._there.hostname, self._there.port)
        self._writers |= {writer, far_writer}
        try:
            await asyncio.gather(self._pump(reader, far_writer, False), self._pump(far_reader, writer, True))
        except OSError:
            return  # one side closed the connection, as intended
        finally:
            await self._flowing.wait()
            for one in (writer, far_writer):
                one.close()
                self._writers.discard(one)

    async def _pump(self, reader: StreamReader, writer: StreamWriter, is_answer: bool) -> None:
        while data := await reader.read(65536):
            await self._flowing.wait()
            if not is_answer and self.dies_of is not None and self.dies_of in data:
                self.dies_at_answer, self.dies_of = True, None
            if is_answer and self.dies_at_answer:
                self.die()
                return
            writer.write(data)
            await writer.drain()
        await self._flowing.wait()
        writer.close()
