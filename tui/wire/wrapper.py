"""The base class of transports that wrap another transport, and the one that reports each response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from tui.client.calls import ApiCall, Transport
from tui.errors import Refused


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


class ObservedTransport(TransportWrapper):
    """Calls `responded` after each response, including refusals, but not after a failed request."""

    def __init__(self, inner: Transport, responded: Callable[[], None]) -> None:
        super().__init__(inner)
        self._responded = responded

    async def send(self, call: ApiCall) -> Any:
        try:
            response = await self.inner.send(call)
        except Refused:
            self._responded()
            raise
        self._responded()
        return response
