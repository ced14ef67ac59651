"""A sink set back one hour and undone, on Apache's worker (with brokers in the context) and on ours: on the screen in
a real terminal, and as a script judged by its exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.console.delaying_proxy import DelayingProxy
from tests.support.console.script_console import Console
from tests.support.console.terminal import Terminal
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

HOURS = 3600_000  # milliseconds


@pytest.fixture
def cluster(each_cluster: Cluster) -> Cluster:
    return each_cluster


@pytest.fixture
def sink(cluster: Cluster, broker: KafkaBroker) -> str:
    """A stopped file sink at the end of a topic: five records of two hours ago, five of now."""
    topic = broker.create_topic()
    now = int(time.time() * 1000)
    with broker.writing() as write:
        for number in range(10):
            write(topic, str(number), timestamp=now - 2 * HOURS if number < 5 else now)
    name = cluster.sink(topic, "back")
    cluster.wait(name, "RUNNING 1/1")
    wait_until(lambda: (cluster.folder / f"{name}.out").read_text().count("\n") == 10, 60, "all ten records to be read")
    cluster.request("PUT", f"/connectors/{name}/stop")
    cluster.wait(name, "STOPPED 0/0")
    wait_until(lambda: at(cluster, name) == 10, 60, "all ten records to be committed")
    return name


def at(cluster: Cluster, name: str) -> Any:
    """The only committed offset of the sink."""
    return next((offset["kafka_offset"] for _, offset in cluster.offsets(name)), None)


@pytest.fixture
def home(tmp_path: Path, cluster: Cluster, broker: KafkaBroker) -> dict[str, str]:
    """A context `prod` that names the brokers, and separate folders for the test."""
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "STATE")}
    known = ContextsFile(Path(folders["XDG_CONFIG_HOME"]) / "headrace" / "contexts.toml")
    known.put(Profile(cluster.url, "prod", bootstrap=broker.bootstrap))
    return folders


def test_a_sink_is_set_back_and_undone_on_the_screen(cluster: Cluster, sink: str, home: dict[str, str]) -> None:
    with Terminal(
        "--context", "prod", XDG_CONFIG_HOME=home["XDG_CONFIG_HOME"], XDG_STATE_HOME=home["XDG_STATE_HOME"]
    ) as terminal:
        terminal.until(lambda: "● live" in terminal.text or "● polling" in terminal.text, "the cluster")
        terminal.press("/", *sink)
        terminal.sees(f"by /{sink}", "1 of ")
        terminal.press("enter")
        terminal.press("enter")
        terminal.sees("1 overview")
        terminal.press("5")
        terminal.sees("PARTITION", "OFFSET", "at the end")
        terminal.press("w")
        terminal.sees(f"set {sink} to", "for all partitions")
        terminal.press(*"1h ago")
        terminal.sees("1 partition would change: 5 records read again, 0 skipped", "offset 10 → offset 5")
        terminal.press("enter")
        terminal.sees("would change 1 partition", "offset 10 → offset 5 (−5, 5 read again)")
        terminal.press("ctrl+s")
        terminal.sees("alter the offsets of", "stays STOPPED", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success", "The offsets for this connector have been altered successfully")
        assert at(cluster, sink) == 5
        terminal.sees("lag 5 records")
        terminal.press("u")
        terminal.sees("offset 5 → offset 10 (+5, 5 skipped)", "reverses change 1")
        terminal.press("ctrl+s")
        terminal.sees("alter the offsets of", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success", "at the end")
        assert at(cluster, sink) == 10
        terminal.press("q")
        assert terminal.exit_code() == 0


def test_a_sink_is_set_back_and_undone_by_a_script(
    cluster: Cluster, sink: str, home: dict[str, str], tmp_path: Path
) -> None:
    headrace = Console("--context=prod", tmp_path)
    headrace.environ |= home
    topic = cluster.offsets(sink)[0][0]["kafka_topic"]
    shown = headrace(f"patch offsets {sink} --to '1h ago' --dry-run").err
    assert f"would set {topic}-0: offset 10 → offset 5, 5 read again" in shown and at(cluster, sink) == 10
    headrace(f"patch offsets {sink} --to '1h ago' --reason 'the target lost them'")
    assert at(cluster, sink) == 5
    (past,) = headrace(f"get offset history {sink} -o json").json["history"]
    assert past["why"] == "the target lost them" and past["before"][0]["offset"] == {"kafka_offset": 10}
    headrace(f"undo {sink}")
    assert at(cluster, sink) == 10
    for to, wanted in (("earliest", 0), ("+3", 3), ("-1h", 5), ("latest", 10), ("-4", 6), (f"9 --topic {topic}", 9)):
        headrace(f"patch offsets {sink} --to {to}")
        assert at(cluster, sink) == wanted, to
    headrace(f"rollback {sink} --to 1")
    assert at(cluster, sink) == 10
    wide = headrace(f"get offsets {sink} -o wide").out.splitlines()
    assert wide[0].split()[-3:] == ["END", "LAG", "TIME"] and wide[1].split()[-2:] == ["10", "0"]
    to = f"patch offsets {sink} --kafka-topic {topic} --dry-run --kafka-partition"
    assert "past the end 10" in headrace(f"{to} 0 --kafka-offset 199999").err
    assert f"the topic {topic} has no partition 9" in headrace(f"{to} 9 --kafka-offset 1").err
    partition = {"kafka_topic": topic, "kafka_partition": 0}
    document = {"nobody": [{"partition": partition, "offset": None}], sink: [{"partition": partition, "offset": None}]}
    document[sink][0]["offset"] = {"kafka_offset": 199999}
    (tmp_path / "offsets.json").write_text(json.dumps(document))
    plan = headrace(f"import offsets -f {tmp_path}/offsets.json --dry-run", code=3).err
    assert "past the end 10" in plan and "nobody: " in plan
    headrace(f"patch offsets {sink} --to earliest")
    assert (
        "(the end: the topic has no offset 99,999,999)" in headrace(f"patch offsets {sink} --to 99999999 --dry-run").err
    )
    headrace(f"rollback {sink} --to 1")
    headrace(f"{to} 0 --kafka-offset -5", code=2)
    headrace(f"patch offsets {sink} --to 'next week'", code=2)
    headrace("patch offsets nobody --to earliest", code=3)
    headrace("stop nobody --dry-run", code=3)
    headrace(f"patch offsets {sink} --to earliest --topic nowhere", code=1)
    headrace(f"resume {sink}", f"wait {sink} RUNNING")
    headrace(f"patch offsets {sink} --to earliest", code=4)
    headrace(f"patch offsets {sink} --to earliest --stop")
    cluster.wait(sink, "RUNNING 1/1")
    wait_until(
        lambda: (cluster.folder / f"{sink}.out").read_text().count("\n") == 20, 60, "all records to be read again"
    )
    headrace(f"delete connector {sink} --with-offsets -y")
    cluster.wait(sink, "")  # Java's worker removes the status slightly later than the connector


@pytest.mark.parametrize("cluster", ["connect_url"], indirect=True)
def test_a_change_of_a_killed_script_is_finished_at_the_next_start(cluster: Cluster, sink: str, tmp_path: Path) -> None:
    with DelayingProxy(cluster.url) as proxy:
        headrace = Console(proxy.url, tmp_path)
        headrace.environ["XDG_STATE_HOME"] = str(tmp_path / "state")
        cluster.request("PUT", f"/connectors/{sink}/resume")
        cluster.wait(sink, "RUNNING 1/1")
        entry = cluster.offsets(sink)[0][0]
        command = (
            f"patch offsets {sink} --kafka-topic {entry['kafka_topic']} --kafka-partition 0 --kafka-offset 2 --stop"
        )
        proxy.hold("PATCH")
        console = headrace.start(command)
        proxy.wait_held()
        console.kill()
        console.wait(30)
        proxy.release(send=False)
        assert at(cluster, sink) == 10 and cluster.state(sink) == "STOPPED 0/0"
        assert sink in headrace("get unfinished").out
        with Terminal(proxy.url, XDG_STATE_HOME=headrace.environ["XDG_STATE_HOME"]) as terminal:
            terminal.sees(f"a change of {sink} was interrupted", "while altering", "offset 10 → offset 2", "f finish")
            terminal.press("f")
            terminal.sees("have been altered successfully")
            terminal.press("q")
        cluster.wait(sink, "RUNNING 1/1")
        wait_until(
            lambda: (cluster.folder / f"{sink}.out").read_text().count("\n") == 18,
            60,
            "the eight records to be read again",
        )
        assert sink not in headrace("get unfinished").out
        assert list((tmp_path / "state" / "headrace" / "history").iterdir())
