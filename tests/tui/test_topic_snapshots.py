"""Snapshots of the page of a topic, of the comparison of two records and of the copy menu, at 60×20 too."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.console.console import Console
from tests.support.console.snapshot import NOON, SIZES, recorded, same, still
from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.screens.topics.compare_screen import CompareScreen
from tui.screens.topics.topic_screen import TopicLinks, TopicScreen
from tui.topics.decoding import DecodedRecord, RecordDecoder
from tui.topics.records import TopicRecord
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


def record(offset: int, value: str, *headers: tuple[str, bytes | None]) -> DecodedRecord:
    at = int(NOON * 1000) + offset * 1_500
    return RecordDecoder().decoded(TopicRecord("orders", 0, offset, at, b"order-17", value.encode(), headers))


@sizes
async def test_two_records(size: tuple[int, int]) -> None:
    first = record(
        100, '{"id": 17, "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}], "total": 12.5}', ("source", b"shop")
    )
    second = record(
        104, '{"id": 17, "total": 14, "lines": [{"sku": "a", "n": 1}, {"sku": "x", "n": 1}, {"sku": "b", "n": 2}]}'
    )
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        seen.app.push_screen(CompareScreen(seen.home.view.services, first, second))
        await same(seen, "compare-records")
        await seen.press("v")
        await same(seen, "compare-records-whole")


@sizes
async def test_the_menu_of_what_a_screen_shows(size: tuple[int, int]) -> None:
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        await seen.press("ctrl+y")
        await same(seen, "copy-menu")
