"""Several workers of one cluster: the next one is asked when one does not answer.

A request that may have arrived is sent to another worker only if sending it twice does what sending it once does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from tui.client.client import ApiCall, Transport
from tui.errors import HeadraceError, TimedOut, Unreachable


class FailoverTransport:
    """A transport over several; it stays with the worker that answered last."""

    def __init__(self, workers: Sequence[Transport]) -> None:
        self.workers, self._now, self._listened = list(workers), 0, 0

    @property
    def url(self) -> str:
        return self.workers[self._now].url

    async def send(self, call: ApiCall) -> Any:
        for attempt in range(len(self.workers)):
            try:
                return await self.workers[self._now].send(call)
            except (Unreachable, TimedOut) as error:
                is_last = attempt == len(self.workers) - 1
                self._turn()
                if is_last or not _may_go_elsewhere(call, error):
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def lines(self, path: str, last_id: str, lasting: float | None = None) -> AsyncGenerator[str, None]:
        """Event ids count for one worker only, so another one begins with a snapshot."""
        place = self._now
        known_id = last_id if place == self._listened else ""
        self._listened = place
        try:
            async with aclosing(self.workers[place].lines(path, known_id, lasting)) as stream:
                async for line in stream:
                    yield line
        except (Unreachable, TimedOut):
            if self._now == place:  # who asks again asks the next one
                self._turn()
            raise

    def _turn(self) -> None:
        self._now = (self._now + 1) % len(self.workers)

    async def sleep(self, seconds: float) -> None:
        await self.workers[self._now].sleep(seconds)

    async def close(self) -> None:
        for worker in self.workers:
            await worker.close()


def _may_go_elsewhere(call: ApiCall, error: HeadraceError) -> bool:
    if isinstance(error, TimedOut):
        return not call.changes
    return call.repeatable or not getattr(error, "sent", False)
