"""A TCP proxy on loopback that can be frozen: connections stay open and nothing arrives, like behind a cut network."""

from __future__ import annotations

import asyncio


class TcpProxy:
    """Belongs to the event loop that starts it."""

    def __init__(self) -> None:
        self.port = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, host: str, port: int) -> None:
        """Listen on any free port, and connect to this address."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(host, port)
            self._writers |= {writer, back}
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

        self._server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def freeze(self) -> None:
        """Stop all data, in both directions."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Let data flow again."""
        self._flowing.set()

    def close(self) -> None:
        """End all connections."""
        assert self._server
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        except OSError:  # one of the ends is gone
            pass
        finally:
            await self._flowing.wait()
            writer.close()
