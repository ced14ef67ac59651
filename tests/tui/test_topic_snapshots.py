"""Snapshots of the page of a topic, at 60×20 too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import SIZES, recorded, same, still
from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.screens.topics.topic_screen import TopicLinks, TopicScreen
from tui.topics.topic_details import PartitionReplicas, ReadingGroup, TopicConfig, TopicDetails, TopicInspector
from tui.topics.topic_list import TopicSummary

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")
sizes = pytest.mark.parametrize("size", [(60, 20), *SIZES], ids=lambda size: f"{size[0]}x{size[1]}")

EARLIEST, LATEST = {0: 0, 1: 1_204, 2: 17}, {0: 1_250_433, 1: 1_249_980, 2: 1_251_002}
REPLICAS = (
    PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3)),
    PartitionReplicas(1, 2, (2, 3, 1), (2, 1)),
    PartitionReplicas(2, -1, (3, 1, 2), (3,)),
)
CONFIGS = (
    TopicConfig("cleanup.policy", "compact,delete", "delete", "topic"),
    TopicConfig("min.insync.replicas", "2", "1", "broker file"),
    TopicConfig("retention.ms", "86400000", "log.retention.hours=168", "topic"),
)
GROUPS = (
    ReadingGroup("connect-orders-search", "Empty", {0: 1_250_000, 1: 1_249_980}, ("orders-search",)),
    ReadingGroup("billing", "Stable", LATEST),
    ReadingGroup("connect-orders-log", "", {}, ("orders-log",)),
)


class ScriptedTopic(TopicInspector):
    """A topic without brokers."""

    def __init__(self) -> None:
        super().__init__(Brokers("broker:9092", {}), "orders")

    def details(self, sinks: Iterable[Connector]) -> TopicDetails:
        summary = TopicSummary("orders", (0, 1, 2), EARLIEST, LATEST)
        return TopicDetails(
            summary, REPLICAS, CONFIGS, GROUPS, ("no offsets of 1 group, such as audit: no permission",)
        )


async def opened(seen: Console) -> TopicScreen:
    await seen.sees("orders-log")
    links = TopicLinks(lambda wanted: None, lambda name, page: None, lambda settings, topic: ScriptedTopic())
    screen = TopicScreen(seen.home.view.services, "orders", links)
    seen.app.push_screen(screen)
    await seen.until(lambda: screen.state.details, "the details")
    return screen


@sizes
async def test_a_topic(size: tuple[int, int]) -> None:
    async with recorded(*size, bootstrap="broker:9092") as seen:
        await opened(seen)
        await same(seen, "topic-groups")
        await seen.press("2")
        await same(seen, "topic-partitions")
        await seen.press("3")
        await same(seen, "topic-configs")
        await seen.press("4")
        await same(seen, "topic-connectors")
