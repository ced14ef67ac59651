"""What happens to the connectors of chain.py, and the lines that they have then written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.java.transcript.chain import SINK, SOURCE, chain
from tests.support.java.transcript.sides import Side, exceptions, wait_for
from tests.support.java.transcript.writer import read
from tests.support.waiting import wait_until

_ORDERS = {"plain": 1, "report": 1, "pause": 1, "timeout": 1, "rewind": 2, "next": 1, "retry": 2, "last": 1}
"""Values of records, and how often put() gets them."""

_COMMITS = ("flush", "commit ")
"""How often these are called depends on time."""


def lines(transcript: Path) -> list[str]:
    """The lines of all parts, without calls whose number depends on time."""
    return [
        f"{part}: {text}"
        for part, told in sorted(read(transcript).items())
        for text in told
        if not text.startswith(_COMMITS) and text != "commit"
    ]


def sink(side: Side, broker: KafkaBroker) -> list[str]:
    """A sink obeys all orders, and is paused, resumed, stopped and deleted."""
    topic = broker.create_topic()
    letters = unique("letters")
    name, transcript = side.start(
        SINK, chain, topics=topic, errors__tolerance="all", errors__deadletterqueue__topic__name=letters,
        errors__deadletterqueue__topic__replication__factor="1",
    )  # fmt: skip
    expected = 0
    for order, count in _ORDERS.items():
        broker.produce(topic, order.encode())
        expected += count
        wait_for(transcript, "task", "put ", expected)
        if order == "retry":
            wait_for(transcript, "value converter", "to retry", timeout=30)
    side.connect.put(name, "pause")
    side.connect.wait(name, "PAUSED", ["PAUSED"])
    side.connect.resume(name)
    side.connect.stop(name)
    side.connect.alter(name, ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 1}))
    side.connect.ask("DELETE", f"/connectors/{name}")
    return lines(transcript)


def source(side: Side, broker: KafkaBroker, boundary: str) -> list[str]:
    """A source sends its records twice, from the beginning and from an altered offset."""
    more: dict[str, Any] = {"exactly__once__support": "required", "transaction__boundary": boundary}
    name, transcript = side.start(SOURCE, chain, topic=broker.create_topic(), **more)
    wait_for(transcript, "commits", "commitRecord {at=4}")
    side.connect.stop(name)
    side.connect.alter(name, ({"p": "a"}, {"at": 2}))
    side.connect.put(name, "resume")
    wait_for(transcript, "commits", "commitRecord {at=4}", 2)
    side.connect.stop(name)
    side.connect.ask("DELETE", f"/connectors/{name}")
    return lines(transcript)


def requests(side: Side, broker: KafkaBroker, cls: str) -> list[str]:
    """A connector requests task configurations, the same and others, and raises an error. Its task runs on."""
    topic = broker.create_topic()
    name, transcript = side.start(cls, topics=topic) if cls == SINK else side.start(cls, topic=topic)

    def order(text: str, starts: int) -> None:
        written = transcript.with_name(f"{name}.draft")
        written.write_text(f"{text}\n")
        written.rename(f"{transcript}.order")
        begin = "open" if cls == SINK else "start "  # a sink gets its partitions later
        wait_for(transcript, "task", begin, starts)

    if cls == SOURCE:
        wait_for(transcript, "commits", "commitRecord {at=4}")
        wait_until(lambda: bool(side.connect.offsets(name)), 30)
    order("same", 1)
    wait_for(transcript, "connector", "taskConfigs", 2)
    order("change", 2)
    side.connect.wait(name, "RUNNING", ["RUNNING"])
    order("raise", 2)
    side.connect.wait(name, "FAILED", ["RUNNING"])
    trace = exceptions(side.connect.status(name)["connector"]["trace"])
    side.connect.ask("POST", f"/connectors/{name}/restart")
    side.connect.wait(name, "RUNNING", ["RUNNING"])
    side.connect.stop(name)
    side.connect.ask("DELETE", f"/connectors/{name}")
    return [*lines(transcript), *(f"trace: {line}" for line in trace)]
