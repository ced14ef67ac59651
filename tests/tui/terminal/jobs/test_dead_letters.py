"""The job about dead letters: read the newest, and send them to their topic again."""

from __future__ import annotations

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, dead_letters
from tests.support.console.counted_terminal import job
from tests.support.kafka.topics import count, values
from tests.support.waiting import wait_until
from tests.tui.terminal.jobs.conftest import HERE, JobCluster, select


@pytest.mark.soak
def test_dead_letters(cluster: JobCluster, broker: KafkaBroker) -> None:
    topic = unique("jobs")
    broker.produce(topic, b"{}", b"no json", b"neither")
    cluster.file_source(cluster.beside)
    cluster.file_sink(topic, **JSON_VALUES, **dead_letters(f"{topic}-dead"))
    wait_until(lambda: count(broker.bootstrap, f"{topic}-dead") == 2, 60, "dead letters", every=0.2)
    with job("dead letters", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("d")
        terminal.sees("newest 2 of 2", "neither")
        terminal.press("*")
        terminal.sees("2 marked")
        terminal.press("R")
        terminal.sees("send 2 records to", "type 2 to continue", "type the number")
        terminal.press("2", "enter")
        terminal.sees("2 records sent")
    assert sorted(values(broker.bootstrap, topic, 5)[3:], key=str) == [b"neither", b"no json"]
