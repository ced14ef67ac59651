"""Lag from the brokers while one of them, or one group, reports errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.unit.tui.screens.builders import connector
from tests.unit.tui.scripted import Scripted
from tui.client.client import Connect
from tui.errors import HeadraceError, Unreachable
from tui.metrics.progress import ProgressMonitor
from tui.offsets.brokers import Brokers, TopicPartition
from tui.screens.services.broker_lag import FAILURE_PAUSE, VISIBLE_INTERVAL, BrokerLag

SILENT = Unreachable("the brokers x: no response within 5 s")
DENIED = HeadraceError("the brokers x: Broker: Group authorization failed")


class Groups(Brokers):
    """Brokers of one topic with ten records; `answers` are the committed offsets or the error of each group."""

    def __init__(self, answers: dict[str, dict[TopicPartition, int] | HeadraceError]) -> None:
        super().__init__("", {})
        self.answers, self.asked = answers, list[set[str]]()
        self.down = False

    def with_short_timeout(self) -> Brokers:
        return self

    def partitions(self, wanted: Callable[[str], bool]) -> list[TopicPartition]:
        if self.down:
            raise SILENT
        return []

    def committed(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int] | HeadraceError]:
        self.asked.append(set(groups))
        return {group: self.answers[group] for group in self.asked[-1]}

    def ends_or_errors(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int | HeadraceError]:
        return {at: DENIED if at[0] == "hidden" else 10 for at in places}


class Rig:
    """The lag of three sinks; the first one's group, or the hidden topic that it reads, cannot be described."""

    def __init__(self, first: dict[TopicPartition, int] | HeadraceError) -> None:
        self.now, self.said = 1000.0, list[str]()
        self.sinks = [connector(name, topics="t,hidden") for name in "abc"]
        self.brokers = Groups({"connect-a": first, "connect-b": {("t", 0): 7}, "connect-c": {}})
        self.progress = ProgressMonitor(Connect(Scripted({})), lambda: None, lambda: self.now)
        self.lag = BrokerLag(self.progress, lambda: self.brokers, self.said.append, lambda: self.now)

    async def poll(self, after: float = 0.0) -> dict[str, int | None]:
        self.now += after
        await self.lag.poll(self.sinks, "abc")
        return {name: one.lag for name, one in self.progress.known.items()}


async def test_the_error_of_one_group_or_topic_leaves_the_lag_of_the_others() -> None:
    for first in (DENIED, SILENT, {("t", 0): 1, ("hidden", 0): 1}):
        rig = Rig({("t", 0): 1})
        assert await rig.poll() == {"a": 9, "b": 3}
        rig.brokers.answers |= {"connect-a": first, "connect-b": {("t", 0): 8}}
        assert await rig.poll(VISIBLE_INTERVAL) == {"b": 2}, "a lag that is no longer known is not shown"
        await rig.poll(VISIBLE_INTERVAL)
        assert rig.brokers.asked[-1] == {"connect-b", "connect-c"}
        await rig.poll(FAILURE_PAUSE)
        assert rig.brokers.asked[-1] == {"connect-a", "connect-b", "connect-c"}
        assert [line.partition(":")[0] for line in rig.said] == ["no lag or throughput of a"], "reported once"
        rig.brokers.answers["connect-a"] = {("t", 0): 10}
        assert (await rig.poll(FAILURE_PAUSE))["a"] == 0


async def test_brokers_that_do_not_answer_pause_all_connectors() -> None:
    rig = Rig(SILENT)
    rig.brokers.answers = dict.fromkeys(rig.brokers.answers, SILENT)
    rig.brokers.down = True
    for _ in range(2):
        await rig.poll()
        await rig.poll(FAILURE_PAUSE - 1)
        rig.now += 1
    assert len(rig.brokers.asked) == 2
    assert rig.said == ["no lag or throughput in the list: the brokers x: no response within 5 s"]
