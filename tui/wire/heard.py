"""A transport that tells of each answer: whatever the cluster says, it is there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from tui.client import Call, Transport
from tui.errors import Refused


class Heard:
    """`heard` is called after each answer, refusals included; not when there was none."""

    def __init__(self, inner: Transport, heard: Callable[[], None]) -> None:
        self.inner, self._heard = inner, heard

    @property
    def url(self) -> str:
        return self.inner.url

    async def send(self, call: Call) -> Any:
        try:
            answer = await self.inner.send(call)
        except Refused:
            self._heard()
            raise
        self._heard()
        return answer

    def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        return self.inner.lines(path, last_id, lasting)

    async def sleep(self, seconds: float) -> None:
        await self.inner.sleep(seconds)

    async def close(self) -> None:
        await self.inner.close()
