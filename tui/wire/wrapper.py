"""The base class of transports that wrap another transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from tui.client.calls import Transport


class TransportWrapper:
    """Forwards everything to the inner transport; subclasses override `send`."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    @property
    def url(self) -> str:
        return self.inner.url

    def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        return self.inner.lines(path, last_id, lasting)

    async def sleep(self, seconds: float) -> None:
        await self.inner.sleep(seconds)

    async def close(self) -> None:
        await self.inner.close()
