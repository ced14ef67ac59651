"""Failover between the workers of a cluster.

A request that may have arrived is sent to another worker only if it is idempotent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from tui.client.calls import ApiCall, Transport
from tui.errors import HeadraceError, TimedOut, Unreachable


class FailoverTransport:
    """A transport over several workers, which prefers the one that responded last."""

    def __init__(self, workers: Sequence[Transport]) -> None:
        self.workers, self._current, self._streaming = list(workers), 0, 0

    @property
    def url(self) -> str:
        return self.workers[self._current].url

    async def send(self, call: ApiCall) -> Any:
        first, count, sent = self._current, len(self.workers), False
        for index in (number % count for number in range(first, first + count)):
            try:
                return await self.workers[index].send(call)
            except (Unreachable, TimedOut) as error:
                self._leave(index)
                if isinstance(error, Unreachable):
                    error.sent = sent = sent or error.sent
                if index == (first - 1) % count or not _may_fail_over(call, error):
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        """Event ids are valid for one worker only, so another worker's stream starts with a snapshot."""
        index = self._current
        known_id = last_id if index == self._streaming else ""
        self._streaming = index
        try:
            async with aclosing(self.workers[index].lines(path, known_id, lasting)) as stream:
                async for line in stream:
                    yield line
        except (Unreachable, TimedOut):
            self._leave(index)
            raise

    def _leave(self, index: int) -> None:
        """Prefers the next worker, unless another request that failed at the same time has done so already."""
        if self._current == index:
            self._current = (index + 1) % len(self.workers)

    async def sleep(self, seconds: float) -> None:
        await self.workers[self._current].sleep(seconds)

    async def close(self) -> None:
        for worker in self.workers:
            await worker.close()


def _may_fail_over(call: ApiCall, error: HeadraceError) -> bool:
    if isinstance(error, TimedOut):
        return not call.changes
    return call.repeatable or not getattr(error, "sent", False)
