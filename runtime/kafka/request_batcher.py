"""Batches concurrent requests: those made while one is in flight are sent together as the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RequestBatcher(Generic[K, V]):
    """Event loop only. `ask` answers for many keys at once; an exception as a response is raised to the caller."""

    def __init__(self, ask: Callable[[Sequence[K]], Awaitable[Mapping[K, V | Exception]]]) -> None:
        self._ask = ask
        self._in_flight = asyncio.Lock()
        self._next: dict[K, None] = {}
        self._response: asyncio.Task[Mapping[K, V | Exception]] | None = None

    async def get(self, key: K) -> V:
        """The response for a key, from a request that is sent after this call."""
        self._next[key] = None
        if self._response is None:
            self._response = asyncio.create_task(self._collect())
            self._response.add_done_callback(_retrieve)
        response = (await asyncio.shield(self._response))[key]
        if isinstance(response, Exception):
            raise response
        return response

    async def _collect(self) -> Mapping[K, V | Exception]:
        async with self._in_flight:
            asked, self._next, self._response = list(self._next), {}, None
            return await self._ask(asked)


def _retrieve(response: asyncio.Task[Any]) -> None:
    """Mark the exception as retrieved: asyncio would log it if all callers have stopped waiting."""
    if not response.cancelled():
        response.exception()
