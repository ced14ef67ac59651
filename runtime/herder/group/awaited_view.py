"""The leader's view, which the event loop collects while the network thread waits for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterable

from runtime.herder.group.leader import GroupView
from runtime.herder.group.leader_view import LeaderView

VIEW_TIMEOUT = 3.0
"""Seconds that the network thread waits for the view; after that nothing is assigned and all members join again. The
view then serves the next attempt, so that a busy event loop delays an assignment but does not prevent it."""

AwaitView = Callable[["concurrent.futures.Future[GroupView]", float], GroupView]
"""Waits on the network thread for a view, for so many seconds: concurrent.futures.Future.result."""


class AwaitedView:
    """Collects a view for each attempt to assign, unless that of the last attempt still serves."""

    def __init__(self, view: LeaderView, awaited: Callable[[], Iterable[str]], await_view: AwaitView) -> None:
        """`awaited`: the ids of the workers before the rebalance for whose return units wait."""
        self._view, self._awaited, self._await_view = view, awaited, await_view
        self._late: concurrent.futures.Future[GroupView] | None = None  # of the last attempt to assign

    def get(self, offset: int, loop: asyncio.AbstractEventLoop) -> GroupView:
        """The view with the config topic up to an offset. Network thread only.

        Raises TimeoutError or CancelledError of concurrent.futures while the event loop is too busy."""
        asked, self._late = self._late, None
        if asked is None or not _serves(asked, offset):
            asked = asyncio.run_coroutine_threadsafe(self._collect(offset), loop)
        try:
            return self._await_view(asked, VIEW_TIMEOUT)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            self._late = asked
            raise

    def forget(self) -> None:
        """The last attempt to assign has succeeded, or another worker leads."""
        self._late = None

    async def _collect(self, offset: int) -> GroupView:
        return await self._view.collect(offset, self._awaited())


def _serves(view: concurrent.futures.Future[GroupView], offset: int) -> bool:
    """Whether a view that came too late can be used, or is still being collected: it has the config topic up to this
    offset."""
    if not view.done():
        return True
    return not view.cancelled() and view.exception() is None and view.result().config_offset >= offset
