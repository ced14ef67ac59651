"""Questions that come while one is being answered go together, as the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RequestBatcher(Generic[K, V]):
    """Event loop only. `ask` answers for each of many; an exception in place of an answer is raised to who asked."""

    def __init__(self, ask: Callable[[Sequence[K]], Awaitable[Mapping[K, V | Exception]]]) -> None:
        self._ask = ask
        self._one_at_a_time = asyncio.Lock()
        self._next: dict[K, None] = {}
        self._answer: asyncio.Task[Mapping[K, V | Exception]] | None = None

    async def get(self, key: K) -> V:
        """An answer that was given after this was called."""
        self._next[key] = None
        if self._answer is None:
            self._answer = asyncio.create_task(self._collect())
            self._answer.add_done_callback(_retrieve)
        found = (await asyncio.shield(self._answer))[key]
        if isinstance(found, Exception):
            raise found
        return found

    async def _collect(self) -> Mapping[K, V | Exception]:
        async with self._one_at_a_time:
            asked, self._next, self._answer = list(self._next), {}, None
            return await self._ask(asked)


def _retrieve(answer: asyncio.Task[Any]) -> None:
    """Whoever asked may have stopped waiting: asyncio would report an error that nobody has looked at."""
    if not answer.cancelled():
        answer.exception()
