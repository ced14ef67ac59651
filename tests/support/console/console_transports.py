"""The common base of the console's in-memory transports; tests implement `send`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from tui.client.calls import ApiCall


class InMemory:
    """A transport without waiting times, connections or events."""

    url = "http://memory:8083"

    async def send(self, call: ApiCall) -> Any:
        raise NotImplementedError

    def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        raise AssertionError("this transport has no events")

    async def sleep(self, seconds: float) -> None: ...

    async def close(self) -> None: ...
