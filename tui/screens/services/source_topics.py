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
        names = {connector.name for connector in sources}
        self._topics = {name: topics for name, topics in self._topics.items() if name in names}
        self._asked_at = {name: at for name, at in self._asked_at.items() if name in names}
        now = self._clock()

        def interval(connector: Connector) -> float:
            return VISIBLE_INTERVAL if connector.name in visible else OTHERS_INTERVAL

        due = [
            connector
            for connector in sources
            if connector.running and now - self._asked_at.get(connector.name, 0.0) >= interval(connector)
        ]
        due.sort(key=lambda connector: (connector.name not in visible, self._asked_at.get(connector.name, 0.0)))
        await asyncio.gather(*(self._read(connector) for connector in due[:MAX_REQUESTS]))

    async def _read(self, connector: Connector) -> None:
        self._asked_at[connector.name] = self._clock()
        try:
            response = await self._connect.topics(connector.name)
            topics = (response.get(connector.name) or {}).get("topics") or ()
        except HeadraceError:  # for example topic.tracking.enable=false
            topics = ()
        named = [topic for topic, role in named_topics(connector.config).items() if role == "written"]
        self._topics[connector.name] = tuple(dict.fromkeys([*topics, *named]))

    def own(self) -> dict[str, tuple[str, ...]]:
        """The topics by source, without sources that share a topic: its growth would be that of both."""
        used = Counter(topic for topics in self._topics.values() for topic in topics)
        return {
            name: topics
            for name, topics in self._topics.items()
            if topics and all(used[topic] == 1 for topic in topics)
        }
