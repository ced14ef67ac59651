"""Requests at the same time while a worker of several ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.console.console_transports import InMemory
from tui.client.calls import ApiCall
from tui.errors import Unreachable, cluster_is_down
from tui.wire.failover import FailoverTransport

RESTART = ApiCall("POST", "/connectors/a/restart")
PAUSE = ApiCall("PUT", "/connectors/a/pause")


class Worker(InMemory):
    """Responds once all requests have arrived, with its URL, or by the error of a connection."""

    def __init__(self, number: int, gate: asyncio.Barrier | None = None, sent: bool | None = None) -> None:
        self.url, self._gate, self._sent = f"http://worker-{number}", gate, sent

    async def send(self, call: ApiCall) -> Any:
        if self._gate is not None:
            await self._gate.wait()
        if self._sent is None:
            return self.url
        error = Unreachable("no connection")
        error.sent = self._sent
        raise error


async def test_requests_that_fail_at_the_same_time_go_to_the_next_worker() -> None:
    gate = asyncio.Barrier(3)
    transport = FailoverTransport([Worker(0, gate, sent=False), Worker(1), Worker(2)])
    assert await asyncio.gather(*(transport.send(RESTART) for _ in range(3))) == ["http://worker-1"] * 3
    assert transport.url == "http://worker-1"


async def test_the_requests_after_a_lost_response_go_to_the_next_worker() -> None:
    transport = FailoverTransport([Worker(0, sent=True), Worker(1)])
    with pytest.raises(Unreachable) as caught:
        await transport.send(RESTART)
    assert not cluster_is_down(caught.value)
    assert await transport.send(RESTART) == "http://worker-1"


async def test_a_request_may_have_arrived_at_the_first_of_the_workers() -> None:
    transport = FailoverTransport([Worker(0, sent=True), Worker(1, sent=False)])
    with pytest.raises(Unreachable) as caught:
        await transport.send(PAUSE)
    assert caught.value.sent
    with pytest.raises(Unreachable) as caught:
        await FailoverTransport([Worker(0, sent=False), Worker(1, sent=False)]).send(PAUSE)
    assert cluster_is_down(caught.value)
