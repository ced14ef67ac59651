"""A transport that reports each response, since any response shows that the cluster is reachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui.client.calls import ApiCall, Transport
from tui.errors import Refused
from tui.wire.wrapper import TransportWrapper


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
