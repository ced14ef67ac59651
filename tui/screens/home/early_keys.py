"""Keys typed before the main screen or a page can respond to them: they act once it can, in their order."""

from __future__ import annotations

from asyncio import Event, timeout
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from textual import events
from textual.dom import DOMNode

CHECK = 0.5  # seconds after which a node that has not responded may have been removed
MAX_CHECKS = 20  # a node that runs responds late on a busy machine
AT_ONCE = ("ctrl+c", "ctrl+q", "ctrl+z")  # leave a console that does not start


class EarlyKeys:
    """`pass_on` handles a key; `target` is the widget that receives the next one."""

    def __init__(self, pass_on: Callable[[events.Key], Awaitable[None]], target: Callable[[], DOMNode]) -> None:
        self._pass_on, self._target = pass_on, target
        self._held: deque[events.Key] = deque()
        self._releasing = False

    def hold(self, event: events.Key, is_started: bool) -> bool:
        """Whether the key is kept for later: until the screen has started, and while earlier ones wait."""
        if (is_started and not self._releasing and not self._held) or event.key in AT_ONCE:
            return False
        self._held.append(event)
        return True

    async def release(self) -> None:
        """Passes the keys on, each when the one before it has taken effect."""
        if self._releasing:
            return
        self._releasing = True
        try:
            while self._held:
                path = list(self._target().ancestors_with_self)
                await self._pass_on(self._held.popleft())
                for node in path:  # the way on which an unhandled key rises
                    await _processed(node)
        finally:
            self._releasing = False


async def _processed(node: DOMNode) -> None:
    """Returns when the node has processed the messages that it has now, or was closed by one of them."""
    done = Event()
    if not (node.is_running and node.call_later(done.set)):
        return
    for _ in range(MAX_CHECKS):
        with suppress(TimeoutError):
            async with timeout(CHECK):
                await done.wait()
        if done.is_set() or not node.is_running:
            return
