"""Keys typed before a screen can respond to them: they act once it can, in their order.

A key may open another screen, which its successors are meant for: `=prod` chooses a context, and must not pause a
connector. So the next key waits until the one before it has taken effect, however quickly both are typed.
"""

from __future__ import annotations

from asyncio import Event, Task, create_task, sleep, timeout
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from textual import events
from textual.dom import DOMNode
from textual.widget import Widget

CHECK = 0.5  # seconds after which a node that has not responded may have been removed
MAX_CHECKS = 6  # a widget that runs responds late on a busy machine
AT_ONCE = ("ctrl+c", "ctrl+q", "ctrl+z")  # leave a console that does not start
EARLY_ENTER = "ctrl+j"  # Enter, typed into a terminal that the console has not set up yet


class EarlyKeys:
    """`pass_on` handles a key; `target` is the widget that receives the next one, `is_started` whether its screen
    responds to keys."""

    def __init__(
        self,
        pass_on: Callable[[events.Key], Awaitable[None]],
        target: Callable[[], Widget],
        is_started: Callable[[], bool],
    ) -> None:
        self._pass_on, self._target, self._is_started = pass_on, target, is_started
        self._held: deque[events.Key] = deque()
        self._is_releasing = False
        self._has_started = False
        self._task: Task[None] | None = None

    async def handle(self, event: events.Key) -> None:
        """Passes the key on, or keeps it until the screen has started and the key before it has taken effect."""
        self._has_started = self._has_started or self._is_started()
        if event.key == EARLY_ENTER and not self._has_started:
            event = events.Key("enter", "\r")
        if event.key in AT_ONCE:
            await self._pass_on(event)
        elif self._held or self._is_releasing or not self._is_started():
            self._held.append(event)
            self.release()
        else:
            path = self._path(event)
            await self._pass_on(event)
            if path:
                self._start(path)

    def release(self) -> None:
        """Passes the keys on as far as possible. Called when a screen has started."""
        if self._held and not self._is_releasing:
            self._start([])

    def _start(self, path: list[DOMNode]) -> None:
        self._is_releasing = True
        self._task = create_task(self._release(path))  # which Textual runs at once since Python 3.12: it may have ended

    async def _release(self, path: list[DOMNode]) -> None:
        try:
            await _all_processed(path)
            while self._held and self._is_started():
                path = self._path(self._held[0])
                await self._pass_on(self._held.popleft())
                await _all_processed(path)
        finally:
            self._is_releasing = False

    def _path(self, event: events.Key) -> list[DOMNode]:
        """The way on which the key rises if its widget does not handle it. None for text that is typed."""
        target = self._target()
        if target.check_consume_key(event.key, event.character):
            return []
        return list(target.ancestors_with_self)


async def _all_processed(path: list[DOMNode]) -> None:
    for node in path:
        await _processed(node)
    if path:
        await sleep(0)  # what the key has started pushes its screen


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
