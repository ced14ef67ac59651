"""Jobs about configs: change one, create a connector, copy it, delete and restore it."""

from __future__ import annotations

import pytest

from tests.support.broker import KafkaBroker
from tests.support.console.counted_terminal import job
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tests.tui.terminal.jobs.conftest import HERE, JobCluster, select
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

pytestmark = pytest.mark.soak


def test_config(cluster: JobCluster, broker: KafkaBroker) -> None:
    cluster.sink_of_five(broker)
    with job("config", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("3")
        terminal.sees("tasks.max", "KEY")
        terminal.press(*["down"] * 4, "enter")
        terminal.sees("no change yet")
        terminal.press("backspace", "2")
        terminal.sees("would change 1 key", "✓ valid")
        terminal.press("ctrl+s")
        terminal.sees(f"change the config of {cluster.name}?", "y yes")
        terminal.press("y")
        terminal.sees("✓ applied")
    assert cluster.request("GET", f"/connectors/{cluster.name}/config")[1]["tasks.max"] == "2"


def test_create(cluster: JobCluster) -> None:
    name = cluster.name
    cluster.file_source(cluster.beside)
    cluster.made.append(name)
    with job("create", *HERE) as terminal:
        terminal.sees("audit")
        terminal.press("c")
        terminal.sees("choose its plugin", "plugins")
        terminal.press("/", *"filestreamsi", "enter")
        terminal.until(
            lambda: "FileStreamSink" in terminal.text and "FileStreamSource" not in terminal.text, "the only plugin"
        )
        terminal.press("enter")
        terminal.sees("a connector needs a name", "to fix")
        terminal.press("enter", *name, "enter")
        terminal.until(lambda: "a connector needs a name" not in terminal.text, "the name")
        terminal.press("n", "enter", *name, "enter")
        terminal.sees("✓ valid")
        terminal.press("ctrl+s")
        terminal.sees(f'"name": "{name}"', "initial state RUNNING")
        terminal.press("ctrl+s")
        cluster.wait(name, "RUNNING 1/1")
        terminal.sees(f"create {name}", "RUNNING, 1/1 tasks")


def test_copy(cluster: JobCluster, other: Cluster, broker: KafkaBroker, contexts: ContextsFile) -> None:
    contexts.put(Profile(other.url, "there"))
    cluster.sink_of_five(broker)
    other.made.append(cluster.name)
    with job("copy", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press(">")
        terminal.sees("promote to there", "1 to create STOPPED", "> promotes")
        terminal.press(">")
        terminal.sees(f"create {cluster.name}", "y yes")
        terminal.press("y")
        terminal.sees("1 connector promoted")
    assert other.state(cluster.name) == "STOPPED 0/0"


def test_delete_and_restore(cluster: JobCluster, broker: KafkaBroker) -> None:
    name = cluster.name
    cluster.sink_of_five(broker)
    before = cluster.request("GET", f"/connectors/{name}/config")[1]
    with job("delete and restore", *HERE) as terminal:
        select(terminal, cluster)
        terminal.press("D")
        terminal.sees(f"delete {name}?", "type the name")
        terminal.press(*name, "enter")
        wait_until(lambda: not cluster.state(name), 60, "the deletion")
        terminal.press("U")
        terminal.sees("deleted connectors", "before the deletion")
        terminal.press("R")
        terminal.sees(f"restore {name}?", "y yes")
        terminal.press("y")
        cluster.wait(name, "RUNNING 1/1")
        terminal.sees(f"start {name}", "observed: RUNNING, 1/1 tasks")
    assert cluster.request("GET", f"/connectors/{name}/config")[1] == before
