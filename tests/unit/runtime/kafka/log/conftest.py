"""Storage topics for a single test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from runtime.kafka.log.log import LogRecord, TopicLog, TopicLogs, TopicSpec
from runtime.kafka.log.topic_watch import CHECK_INTERVAL
from tests.support.broker import KafkaBroker, unique


@dataclass
class Recorder:
    """One worker's logs of the three topics, and the records that they applied."""

    prefix: str
    logs: TopicLogs
    config: TopicLog = field(init=False)
    offset: TopicLog = field(init=False)
    status: TopicLog = field(init=False)
    applied: dict[str, list[LogRecord]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config, self.offset, self.status = (
            self.logs.open(
                TopicSpec(f"{self.prefix}-{kind}", n, 1, f"{kind}.storage", single=n == 1), self._taker(kind)
            )
            for kind, n in (("config", 1), ("offset", 25), ("status", 5))
        )

    def _taker(self, kind: str) -> Callable[[Sequence[LogRecord]], None]:
        self.applied[kind] = []
        return self.applied[kind].extend

    def values(self, kind: str) -> list[bytes | None]:
        return [r.value for r in self.applied[kind]]


@pytest.fixture
async def recorder(broker: KafkaBroker) -> AsyncIterator[Callable[..., Recorder]]:
    """Opens logs: `recorder()` on new topics, `recorder(prefix)` on those of another; closes them at the end."""
    made: list[Recorder] = []

    def make(
        prefix: str | None = None,
        bootstrap: str = broker.bootstrap,
        timeout: float = 30.0,
        watch_every: float = CHECK_INTERVAL,
    ) -> Recorder:
        logs = TopicLogs({"bootstrap.servers": bootstrap}, timeout, watch_every)
        made.append(Recorder(prefix or unique("log"), logs))
        return made[-1]

    yield make
    for one in made:
        await one.logs.close()
