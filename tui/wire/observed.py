"""A transport that tells of each answer: whatever the cluster says, it is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui.client.client import ApiCall, Transport
from tui.errors import Refused
from tui.wire.wrapper import TransportWrapper


class ObservedTransport(TransportWrapper):
    """`heard` is called after each answer, refusals included; not when there was none."""

    def __init__(self, inner: Transport, heard: Callable[[], None]) -> None:
        super().__init__(inner)
        self._heard = heard

    async def send(self, call: ApiCall) -> Any:
        try:
            answer = await self.inner.send(call)
        except Refused:
            self._heard()
            raise
        self._heard()
        return answer
