"""The topics that sources have written to (KIP-558), requested a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from tui.client.client import Connect
from tui.errors import HeadraceError
from tui.model import Connector
from tui.topics.usage import named_topics

VISIBLE_INTERVAL = 60.0  # seconds between two requests for a source on the screen
OTHERS_INTERVAL = 600.0
MAX_REQUESTS = 4  # at the same time; the others follow a second later


class SourceTopics:
    """`refresh` is called each second."""

    def __init__(self, connect: Connect, clock: Callable[[], float]) -> None:
        self._connect, self._clock = connect, clock
        self._topics: dict[str, tuple[str, ...]] = {}
        self._asked_at: dict[str, float] = {}

    async def refresh(self, sources: Sequence[Connector], visible: Collection[str]) -> None:
        """Requests the topics of sources that are due, those on the screen first."""
        names = {one.name for one in sources}
        self._topics = {name: topics for name, topics in self._topics.items() if name in names}
        self._asked_at = {name: at for name, at in self._asked_at.items() if name in names}
        now = self._clock()

        def interval(one: Connector) -> float:
            return VISIBLE_INTERVAL if one.name in visible else OTHERS_INTERVAL

        due = [one for one in sources if one.running and now - self._asked_at.get(one.name, 0.0) >= interval(one)]
        due.sort(key=lambda one: (one.name not in visible, self._asked_at.get(one.name, 0.0)))
        await asyncio.gather(*(self._read(one) for one in due[:MAX_REQUESTS]))

    async def _read(self, one: Connector) -> None:
        self._asked_at[one.name] = self._clock()
        try:
            answer = await self._connect.topics(one.name)
            found = (answer.get(one.name) or {}).get("topics") or ()
        except HeadraceError:  # for example topic.tracking.enable=false
            found = ()
        named = [topic for topic, role in named_topics(one.config).items() if role == "written"]
        self._topics[one.name] = tuple(dict.fromkeys([*found, *named]))

    def own(self) -> dict[str, tuple[str, ...]]:
        """The topics by source, without sources that share a topic: its growth would be that of both."""
        used = Counter(topic for topics in self._topics.values() for topic in topics)
        return {
            name: topics
            for name, topics in self._topics.items()
            if topics and all(used[topic] == 1 for topic in topics)
        }
