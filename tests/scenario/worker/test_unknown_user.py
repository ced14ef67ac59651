"""A worker whose user the system does not know, as in a container that runs with any uid, without a home."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, SOURCE, STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

pytestmark = pytest.mark.soak

_UNKNOWN = ["unshare", "--user", "--map-user=4242", "--map-group=4242"]
_CONFIG_FOLDER = "from tui.user_folders import config_folder; print(config_folder({}))"


def test_a_user_without_name_and_home_runs_connectors(broker: KafkaBroker, tmp_path: Path) -> None:
    worker = our_worker(tmp_path, broker.bootstrap, {"headrace.slots": "1"})
    folders = [f"XDG_{kind}_HOME={tmp_path}" for kind in ("CACHE", "STATE", "CONFIG")]
    worker.command[:0] = ["env", "--unset=HOME", *folders, *_UNKNOWN]
    (tmp_path / "in").write_text("a\nb\n")
    worker.start()
    connect, topic = Connect(worker), unique("t")
    connect.create(
        unique("source"), {"connector.class": SOURCE, "file": str(tmp_path / "in"), "topic": topic, **STRINGS}
    )
    out = tmp_path / "out"
    connect.create(unique("sink"), {"connector.class": SINK, "file": str(out), "topics": topic, **STRINGS})
    wait_until(lambda: out.exists() and out.read_text() == "a\nb\n", 60)
    assert worker.stop() == 0


def test_the_home_of_the_console_is_then_the_root_folder() -> None:
    command = ["env", "--unset=HOME", *_UNKNOWN, sys.executable, "-c", _CONFIG_FOLDER]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "/.config/headrace\n"
