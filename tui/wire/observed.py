"""A transport that reports each answer, since any answer shows that the cluster is reachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui.client.calls import ApiCall, Transport
from tui.errors import Refused
from tui.wire.wrapper import TransportWrapper


class ObservedTransport(TransportWrapper):
    """Calls `heard` after each answer, including refusals, but not after a failed request."""

    def __init__(self, inner: Transport, answered: Callable[[], None]) -> None:
        super().__init__(inner)
        self._answered = answered

    async def send(self, call: ApiCall) -> Any:
        try:
            answer = await self.inner.send(call)
        except Refused:
            self._answered()
            raise
        self._answered()
        return answer
