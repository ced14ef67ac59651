"""Watches a cluster for the screen: events or polling → snapshots (see `publisher`).

    CONNECTING ─► LIVE | POLLING ─► LOST ─► (back-off, at most a minute) ─► LIVE | POLLING ─► …

Headrace workers have `GET /events`; if that is missing, refused or silent, the connector list is polled.
Free of Textual.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, NoReturn

from tui.back_off import JITTER, BackOff, jittered
from tui.client import checking, sse
from tui.client.client import Connect
from tui.client.responses import EVENTS
from tui.cluster.publisher import SnapshotPublisher
from tui.cluster.snapshot import ClusterLink, LinkState, Snapshot, lost_link
from tui.errors import HeadraceError, MalformedResponse, Refused, TimedOut, Unreachable

Lines = Callable[[str, str], AsyncGenerator[str, None]]  # (path, last event id) → lines of an event stream


class StorePace(NamedTuple):
    """Intervals of polling and retries, in seconds."""

    interval: float = 2.0
    back_off: BackOff = BackOff(1.0, 60.0)
    jitter: float = JITTER
    nudge: float = 3.0  # after a failure, until a key press leads to another try
    patience: float = 15.0  # limit of one refresh; twice as long after each that exceeded it
    longest: float = 90.0  # a list of thousands of connectors may need this long on a slow connection
    opening: float = 5.0  # for an event stream to deliver the connectors; otherwise they are polled until the next try
    listen_again: float = 60.0  # seconds until the next try of an event stream
    reconnect: float = 0.25  # pause before an event stream that ended is opened again
    gather: float = 0.05  # events within this time reach subscribers as one difference
    spacing: float = 0.5  # at least, between two differences from events: each takes tens of milliseconds from keys


USUAL_PACE = StorePace()


class ClusterStore:
    """Watches one cluster while `run` runs. Subscribers are called on its event loop. `loads` decodes events.

    `clock` is monotonic; `wall_clock` gives the times of changes, in seconds since 1970."""

    def __init__(
        self,
        connect: Connect,
        lines: Lines | None = None,
        *,
        pace: StorePace = USUAL_PACE,
        clock: Callable[[], float],
        wall_clock: Callable[[], float] = time.time,
        loads: Callable[[Any], Any] = json.loads,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.connect, self.lines, self.pace = connect, lines, pace
        self._clock, self._loads, self._sleep, self._chance = clock, loads, sleep, chance
        self._publisher = SnapshotPublisher(wall_clock, pace.gather, pace.spacing)
        self.subscribe = self._publisher.subscribe
        self.on_notice = self._publisher.on_notice
        self.on_progress = self._publisher.on_progress
        self._wake = asyncio.Event()
        self._last_id = ""
        self._failed_at = 0.0
        self._limit = pace.patience
        self._opening: asyncio.Timeout | None = None  # of an event stream that is not live yet

    @property
    def snapshot(self) -> Snapshot:
        return self._publisher.snapshot

    def refresh(self) -> None:
        """Refreshes as soon as possible, without waiting for the interval or the back-off."""
        self._wake.set()

    def mark_contact(self) -> None:
        """Refreshes a lost cluster at once, since it has responded to another request."""
        if self.snapshot.link.state is LinkState.LOST:
            self.refresh()

    def nudge(self) -> None:
        """Someone is looking: a lost cluster is tried again, without waiting for a long back-off."""
        if self.snapshot.link.state is LinkState.LOST and self._clock() - self._failed_at >= self.pace.nudge:
            self.refresh()

    async def run(self) -> None:
        """Watches until cancelled; neither a failure of the cluster nor a bug in the console ends the loop."""
        failures = 0
        while True:
            try:
                await self._watch()
            except Exception as error:  # the watch continues after any error
                self._failed_at = self._clock()
                was_connected = self.snapshot.link.state in (LinkState.LIVE, LinkState.POLLING)
                failures = 1 if was_connected else failures + 1
                wait = self._jittered(self.pace.back_off.pause(failures))
                link = self.snapshot.link
                self._publisher.publish(lost_link(link, self._clock() + wait, error))
                if await self._pause(wait):
                    failures -= 1  # a requested refresh does not extend the back-off

    async def _watch(self) -> None:
        """Follows the event stream, or polls while there is none; ends by raising the error."""
        while True:
            trouble = await self._why_silent()
            until = self._clock() + self.pace.listen_again if trouble else math.inf
            while self._clock() < until:
                await self._poll(trouble)
                await self._pause(self._jittered(self.pace.interval))

    async def _why_silent(self) -> str:
        """Follows the event stream. Without one, returns the reason, or nothing if the worker does not offer
        events."""
        if self.lines is None:
            return ""
        try:
            await self._listen(self.lines)
        except HeadraceError as error:
            if self._opening is None:  # the stream was live and has ended
                raise
            return (
                ""
                if isinstance(error, Refused) and error.status in (404, 405)
                else f"events: {error.message.removeprefix(f'cannot reach {self.connect.url}: ')}"
            )
        finally:
            self._opening = None

    # Polling

    async def _poll(self, trouble: str = "") -> None:
        """Refreshes from the list of connectors. `trouble` is why there is no event stream."""
        limit, began = self._limit, self._clock()
        try:
            async with asyncio.timeout(limit):
                response = await self.connect.expanded()
        except TimeoutError:
            self._limit = min(2 * limit, self.pace.longest)
            raise TimedOut(f"{self.connect.url} gave no complete response within {limit:g} s") from None
        except Unreachable:
            self._limit = self.pace.patience
            raise
        if self._clock() - began < self.pace.patience:
            self._limit = self.pace.patience
        await self._publisher.builder.replace_in_slices(response)
        self._last_id = ""  # polled data are newer than the event that a stream would resume from
        self._publisher.publish(ClusterLink(LinkState.POLLING, self._clock(), trouble=trouble))

    # Listening

    async def _listen(self, lines: Lines) -> NoReturn:
        """Follows the stream and resumes it from the last event; raises the error if that fails."""
        while True:
            seen = self._last_id
            try:
                async with asyncio.timeout(self.pace.opening) as self._opening:
                    await self._follow(lines, seen)
            except TimeoutError:
                raise TimedOut(f"nothing arrived within {self.pace.opening:g} s") from None
            if self._last_id == seen:
                raise Unreachable(f"{self.connect.url} closed the event stream")
            await self._pause(self.pace.reconnect)

    async def _follow(self, lines: Lines, seen: str) -> None:
        async with aclosing(lines("/events", seen)) as stream:
            try:
                async for event in sse.parse(self._contacted(stream), seen):
                    self._take(event)
            except (TimedOut, MalformedResponse):
                self._last_id = ""  # events may be missing: the next stream starts with a snapshot
                raise

    def _take(self, event: sse.ServerEvent) -> None:
        """Unknown kinds of events come from newer workers and are ignored."""
        self._last_id = event.id
        if event.name in EVENTS:
            self._apply(event.name, checking.event(event.name, event.data, self._loads))

    async def _contacted(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """Passes lines on. Each line, comments included, shows that the worker is alive."""
        async for line in lines:
            self._link_live()
            yield line

    def _link_live(self) -> None:
        """Marks the stream as live once it resumes from the last event or has delivered a snapshot."""
        if self._opening is not None and not self._last_id:
            return
        self._opened()
        link = ClusterLink(LinkState.LIVE, self._clock())
        if self.snapshot.link.state is LinkState.LIVE:
            self._publisher.snapshot = self.snapshot._replace(link=link)
        else:
            self._publisher.publish(link)

    def _opened(self) -> None:
        if self._opening is not None:
            self._opening.reschedule(None)
            self._opening = None

    def _apply(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "snapshot":
            self._publisher.builder.replace(data["connectors"], data.get("changed_at") or {})
            self._opened()
            self._publisher.publish(ClusterLink(LinkState.LIVE, self._clock()))
            self._publisher.progress(data.get("progress") or {})
        elif kind == "progress":
            self._publisher.progress(data["connectors"])
        elif kind == "connector":
            self._publisher.builder.put(data["name"], {"status": data.get("status"), "info": data.get("info")})
            self._publisher.publish_soon()
        elif kind == "removed":
            self._publisher.builder.remove(data["name"])
            self._publisher.publish_soon()
        else:
            self._publisher.notify(data)

    async def _pause(self, seconds: float) -> bool:
        """Sleeps; returns early, with True, if a refresh is requested."""
        waiters = [asyncio.ensure_future(self._wake.wait()), asyncio.ensure_future(self._sleep(seconds))]
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
            return self._wake.is_set()
        finally:
            self._wake.clear()
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)

    def _jittered(self, seconds: float) -> float:
        return jittered(seconds, self._chance, self.pace.jitter)
