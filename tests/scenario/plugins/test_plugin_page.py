"""docs/plugins.md followed literally: a new plugin is tested, built, installed as a wheel, run, altered and killed."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime
from runtime.embedded.processes.process import ProcessRef
from tests.support.broker import KafkaBroker
from tests.support.connect import Connect
from tests.support.processes import child_refs, is_slot
from tests.support.shell_steps import ShellSteps
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

PAGE = Path(runtime.__path__[0]).parent / "docs" / "plugins.md"
NAME, TOPIC, TOTAL = "river-levels", "measurements", 1000


def steps() -> list[str]:
    """The commands of the section "From nothing to a wheel", step by step."""
    section = PAGE.read_text("utf-8").partition("## From nothing to a wheel")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def connect(broker: KafkaBroker, tmp_path: Path) -> Iterator[Connect]:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    with our_worker(
        tmp_path, broker.bootstrap, {"plugin.path": str(plugins), "offset.flush.interval.ms": "200"}
    ).started() as process:
        yield Connect(process)


def numbers(broker: KafkaBroker) -> list[int]:
    return [json.loads(value)["number"] for _, value in records(broker, TOPIC) if value is not None]


def slots(connect: Connect) -> list[ProcessRef]:
    """The processes of the worker's slots."""
    return [process for process in child_refs(connect.worker.pid) if is_slot(process.pid)]


@pytest.mark.slow
def test_from_nothing_to_a_wheel_that_runs(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    worker = connect.worker
    terminal = ShellSteps(tmp_path, PLUGIN_PATH=str(tmp_path / "plugins"), HEADRACE_URL=worker.url)
    write, test, run, build, install, start, operate = steps()

    terminal.run(write)
    assert "ok       kill" in terminal.run(test)
    assert '"number": 2' in terminal.run(run)
    terminal.run(build)
    assert "river_levels.river_levels_source.RiverLevelsSourceConnector" in terminal.run(install)

    terminal.run(start)
    wait_until(lambda: len(numbers(broker)) >= TOTAL, 30, "all measurements")
    assert sorted(numbers(broker)) == list(range(TOTAL))

    terminal.run(operate)
    wait_until(lambda: len(numbers(broker)) >= TOTAL + 500, 30, "the measurements from 500 on")
    assert sorted(numbers(broker)[TOTAL:]) == list(range(500, TOTAL))

    committed = [{"partition": {"station": "north"}, "offset": {"next": TOTAL}}]  # otherwise they are sent once more
    wait_until(lambda: connect.offsets(NAME) == committed, 30, "the commit of the last offset")
    config = connect.ask("GET", f"/connectors/{NAME}/config")
    for slot in slots(connect):
        os.kill(slot.pid, signal.SIGKILL)
    connect.ask("PUT", f"/connectors/{NAME}/config", {**config, "total": str(2 * TOTAL)})
    wait_until(lambda: set(numbers(broker)) == set(range(2 * TOTAL)), 60, "the measurements after the kill")
    assert sorted(set(numbers(broker)[TOTAL + 500 :])) == list(range(TOTAL, 2 * TOTAL))
    wait_until(lambda: connect.states(NAME) == ("RUNNING", ["RUNNING"]), 30, "the task")
