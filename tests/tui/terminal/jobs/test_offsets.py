"""Jobs about offsets: rewind, edit with mistakes, possible success."""

from __future__ import annotations

import time

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.counted_terminal import job
from tests.support.waiting import wait_until
from tests.tui.terminal.jobs.conftest import HERE, OURS, JobCluster, select


@pytest.mark.soak
def test_rewind(cluster: JobCluster, broker: KafkaBroker) -> None:
    topic, now = unique("jobs"), int(time.time() * 1000)
    with broker.writing() as write:
        for number in range(50):
            write(topic, str(number), timestamp=now - (7200_000 if number < 30 else 1800_000))
    cluster.sink_at(50, topic)
    with job("rewind", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("5")
        terminal.sees("at the end")
        terminal.press("w")
        terminal.sees("for all partitions")
        terminal.press(*"-1h")
        terminal.sees("20 records read again, 0 skipped")
        terminal.press("enter")
        terminal.sees("offset 50 → offset 30 (−20, 20 read again)")
        terminal.press("ctrl+s")
        terminal.sees("In one step: stop it", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success", "● RUNNING")
    out = cluster.folder / f"{cluster.name}.out"
    wait_until(lambda: out.read_text().split().count("49") == 2, 60, "the records of the last hour again")
    assert out.read_text().split().count("29") == 1


@pytest.mark.soak
def test_edit_with_mistakes(cluster: JobCluster, broker: KafkaBroker) -> None:
    cluster.sink_of_five(broker)
    with job("edit with mistakes", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("e")
        terminal.sees("no change yet", "kafka_offset")
        terminal.press("backspace", "x")
        terminal.sees("line 3")
        terminal.press("ctrl+s")
        terminal.sees("fix line 3")
        assert cluster.offsets(cluster.name)[0][1] == {"kafka_offset": 5}, "nothing was sent"
        terminal.press("backspace", "2")  # the cursor is still behind the mistake
        terminal.sees("offset 5 → offset 2 (−3, 3 read again)")
        terminal.press("ctrl+s")
        terminal.sees("In one step: stop it", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success")


@pytest.mark.soak
@pytest.mark.parametrize("cluster", [OURS], indirect=True)  # the file connectors of Apache's worker confirm
def test_possible_success(cluster: JobCluster) -> None:
    counting = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": unique("jobs")}
    cluster.create(cluster.name, counting)
    cluster.file_source(cluster.beside)
    cluster.wait_offset(cluster.name)
    with job("possible success", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("e")
        terminal.sees("no change yet", '"n"')
        terminal.press("0")
        terminal.sees("would change 1 partition")
        terminal.press("ctrl+s")
        terminal.sees("In one step", "y yes")
        terminal.press("y")
        terminal.sees("! possible success", "to do:", "remains STOPPED")
    assert cluster.state(cluster.name) == "STOPPED 0/0"
