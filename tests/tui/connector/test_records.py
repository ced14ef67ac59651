"""The browser of topics and records with Apache's worker and a real broker, by keys."""

from __future__ import annotations

from tests.support.broker import KafkaBroker
from tests.support.console.console import Console, console
from tests.support.kafka import topics
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.screens.base.navigation import OpenRecords
from tui.screens.topics import records_screen
from tui.screens.topics.topic_screen import TopicScreen
from tui.screens.topics.topics_screen import TopicsScreen


def filled(broker: KafkaBroker, partitions: int = 2, count: int = 600) -> str:
    """A topic of JSON records `{"n": …}`, in turn on each partition."""
    topic = broker.create_topic(partitions=partitions)
    with broker.writing() as write:
        for number in range(count):
            at = 1_700_000_000_000 + number * 1000
            write(topic, f'{{"n": {number}}}', f"key-{number}", number % partitions, timestamp=at)
    wait_until(lambda: topics.count(broker.bootstrap, topic) == count, 30, f"{count} records in {topic}")
    return topic


async def filtered(seen: Console, topic: str) -> None:
    """Leaves only this topic in the list, with the cursor on it."""
    await seen.press("slash", *topic, "enter")
    screen = seen.app.screen
    assert isinstance(screen, TopicsScreen)
    await seen.until(lambda: (screen.grid.keys, screen.grid.current) == ([topic], topic), f"the cursor on {topic}")
    await seen.until(lambda: screen.grid.has_focus, "the focus on the list")


async def test_from_the_list_of_topics_to_a_record(cluster: Cluster, broker: KafkaBroker) -> None:
    topic = filled(broker)
    sink = cluster.sink(topic)
    async with console(cluster.url, 180, 40, bootstrap=broker.bootstrap) as seen:
        await seen.go(sink)
        await seen.press("T")
        await seen.sees("USED BY", "PARTS")
        await filtered(seen, topic)
        await seen.sees("1 topic", "600", sink)
        await seen.press("v")
        await seen.sees("200 of about 600, all partitions", "key-599", '"n": 599', "partition 1, offset 299")
        screen = seen.app.screen
        assert isinstance(screen, records_screen.RecordsScreen)
        await seen.press("home", "up")
        await seen.sees("400 of about 600")
        await seen.press("slash", *"KEY-123", "enter")
        await seen.sees("1 record of", "/KEY-123", '"n": 123')
        await seen.press("slash", *["backspace"] * 7, "enter")
        await seen.press("at", *"1@42", "enter")
        await seen.sees("partition 1", "partition 1, offset 42", '"n": 85')
        await seen.press("v")
        await seen.sees("value as text")
        await seen.press("v")
        await seen.sees("value as hex", "7b 22 6e 22")
        await seen.press("at", *"nowhere", "enter")
        await seen.sees("is not a position")
        await seen.press("p")
        await seen.sees("all partitions")
        await seen.press("escape")
        await seen.sees("USED BY")


async def test_the_window_is_bounded(cluster: Cluster, broker: KafkaBroker) -> None:
    topic = filled(broker, 1, 1700)
    async with console(cluster.url, 100, 30, bootstrap=broker.bootstrap) as seen:
        await seen.until(lambda: seen.home.services, "the screen")
        seen.home.run_line("topics")
        await seen.until(lambda: topic in getattr(seen.app.screen, "topics", ()), topic)
        await filtered(seen, topic)
        await seen.press("v")
        await seen.sees("200 of about 1,700")
        await seen.press("p")
        await seen.sees("the topic has one partition")
        screen = seen.app.screen
        assert isinstance(screen, records_screen.RecordsScreen)
        for count in (400, 600, 800, 1000, 1000, 1000):
            page = screen.page
            await seen.press("left_square_bracket")
            await seen.until(lambda: screen.page is not page and not screen._busy)  # noqa: B023 - awaited here
            assert len(screen.records) == count
        assert screen.page is not None and screen.page.starts == {0: 300} and screen.page.ends == {0: 1300}


async def test_two_records_are_compared(cluster: Cluster, broker: KafkaBroker, topic: str) -> None:
    with broker.writing() as write:
        for key, value in (("a", '{"n": 1, "s": [1, 3]}'), ("b", "{}"), ("a", '{"s": [1, 2, 3], "n": 2}')):
            write(topic, value, key)
    async with console(cluster.url, 100, 30, bootstrap=broker.bootstrap) as seen:
        await seen.until(lambda: seen.home.services, "the screen")
        seen.home.post_message(OpenRecords(topic))
        await seen.sees("3 of about 3", "offset 2")
        await seen.press("equals_sign")
        await seen.sees("compare", "2 differences", "0@0", "0@2", "value.n", "value.s[1]", "(none)")
        await seen.press("v")
        await seen.sees('- "n": 1', '+ "n": 2', '"s": [')
        await seen.press("escape", "home", "equals_sign")
        await seen.sees("no earlier record with this key")
        await seen.press("space", "down", "equals_sign")
        await seen.sees("0@0", "0@1", 'key "a" "b"')
        await seen.press("escape", "up", "space")
        screen = seen.app.screen
        assert isinstance(screen, records_screen.RecordsScreen)
        await seen.until(lambda: screen.marked is None and not screen.grid.marks, "no mark")


async def test_from_an_offset_to_its_record_and_back(cluster: Cluster, broker: KafkaBroker) -> None:
    topic = filled(broker, 1, 50)
    sink = cluster.sink(topic)
    cluster.wait(sink, "RUNNING 1/1")
    # before the stop, since a stopped connector reads nothing more
    wait_until(lambda: cluster.offsets(sink) == [({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 50})],
               60, "the end of the topic")  # fmt: skip
    cluster.request("PUT", f"/connectors/{sink}/stop")
    cluster.wait(sink, "STOPPED 0/0")
    async with console(cluster.url, 100, 30, bootstrap=broker.bootstrap) as seen:
        await seen.go(sink)
        await seen.press("enter", "5")
        await seen.sees(f"{topic}-0", "50")
        await seen.press("v")
        await seen.sees("records", "key-49", "set offset here")
        await seen.press("at", *"17", "enter")
        await seen.sees("offset 17")
        await seen.press("e")
        await seen.sees("would change 1 partition", '"kafka_offset": 17', "(−33, 33 read again)")
        await seen.press("f4")
        await seen.sees("partition 0, offset 17", '"n": 17')
        await seen.press("escape", "ctrl+s")
        await seen.confirm("y")
        await seen.until(lambda: cluster.offsets(sink)[0][1] == {"kafka_offset": 17}, "offset 17")


async def test_from_a_topic_to_its_groups_records_and_connectors(cluster: Cluster, broker: KafkaBroker) -> None:
    topic = filled(broker, 2, 60)
    sink = cluster.sink(topic)
    cluster.wait(sink, "RUNNING 1/1")
    wait_until(lambda: sum(offset["kafka_offset"] for _, offset in cluster.offsets(sink)) == 60, 90, "60 records")
    async with console(cluster.url, 120, 30, bootstrap=broker.bootstrap) as seen:
        await seen.go(sink)
        await seen.press("T")
        await seen.sees("USED BY")
        await filtered(seen, topic)
        await seen.press("d")
        await seen.sees("2 partitions × 1 replica", "60 records", f"connect-{sink}", "2/2", "Stable")
        screen = seen.app.screen
        assert isinstance(screen, TopicScreen)
        assert screen._rows[f"connect-{sink}"]["lag"].text == "0"
        screen._read_progress()
        await seen.sees("0.0 records/s")
        await seen.press("2")
        await seen.sees("EARLIEST", "LEADER", "IN SYNC")
        await seen.press("3")
        await seen.sees("SET FOR")
        await seen.press("4")
        await seen.sees("ROLE", sink, "● RUNNING")
        await seen.press("left", "left", "down", "enter")
        await seen.sees("30 of about 30, partition 1", "key-59")
        await seen.press("escape", "1", "enter")
        await seen.until(
            lambda: seen.app.screen is seen.home and seen.home.view.page == "offsets", "the sink's offsets"
        )
        assert seen.home.view.name_shown == sink
        await seen.press("6", "d")
        await seen.until(lambda: isinstance(seen.app.screen, TopicScreen), "the topic's page again")
