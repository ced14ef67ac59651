"""Jobs about failures: find, restart one task, and the script that restarts all of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON
from tests.support.console.counted_terminal import PAGE, check, job
from tests.tui.terminal.jobs.conftest import HERE, JobCluster

SCRIPT = "headrace -c 'restart failures -y'"


@pytest.mark.soak
def test_find(cluster: JobCluster, broker: KafkaBroker) -> None:
    topic = unique("jobs")
    broker.produce(topic, b"no json")
    cluster.file_source(cluster.beside)
    cluster.file_sink(topic, **{"value.converter": JSON})
    cluster.wait_failed(cluster.name)
    with job("find", *HERE) as terminal:
        terminal.sees("✗ FAILED")
        terminal.press("t")
        terminal.sees("why task 0 failed", "full trace", "org.apache.kafka.connect.errors.DataException")


@pytest.mark.soak
def test_restart_one_task(cluster: JobCluster) -> None:
    cluster.repaired_sink()
    with job("restart one task", *HERE) as terminal:
        terminal.sees("✗ FAILED")
        terminal.press("F")
        terminal.sees("1 failure of 1 connector", f"{cluster.name}/0")
        terminal.press("R")
        terminal.sees(f"restart {cluster.name}/0?", "y yes")
        terminal.press("y")
        terminal.sees("restart 1 task: 1 observed", "observed: RUNNING, 1/1 tasks")


@pytest.mark.soak
def test_script(cluster: JobCluster) -> None:
    """Restarts all failed tasks, and ends with 0 when they have run for the settling time."""
    cluster.repaired_sink()
    words = shlex.split(SCRIPT)
    program = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    environment = {**os.environ, "HEADRACE_SETTLE": "2s"}
    script = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=120)
    assert script.returncode == 0, script.stderr
    assert f"{cluster.name}/0" in script.stderr, script.stderr
    cluster.wait(cluster.name, "RUNNING 1/1")
    check("script", len(SCRIPT) + 1)
    assert f"`{SCRIPT}`" in PAGE.read_text("utf-8")
