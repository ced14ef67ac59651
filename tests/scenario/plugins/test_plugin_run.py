"""`headrace plugin run` on the embedded cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.plugin_kit.project.new import new_project

pytestmark = pytest.mark.soak  # each test starts a cluster


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    yield {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "runtime", "plugin", "run", str(folder), str(folder / "example.json"), *options]


def test_records_of_a_source_until_interrupted(tmp_path: Path, environment: dict[str, str]) -> None:
    folder, _ = new_project("trial-source", "source", False, tmp_path)
    with subprocess.Popen(
        command(folder), env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if '"number": 999' in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert "Task 0 is RUNNING.\n" in lines
    assert lines[-1] == "Deleting connector plugin-run-trial-source.\n"
    assert sum('"number"' in line for line in lines) == 1000


def test_records_of_a_sink(tmp_path: Path, environment: dict[str, str]) -> None:
    folder, _ = new_project("trial-sink", "sink", False, tmp_path)
    example = folder / "example.json"
    example.write_text(json.dumps({**json.loads(example.read_text()), "file": str(tmp_path / "items.db")}))
    done = subprocess.run(
        command(folder, "--cluster", "--input", str(folder / "records.jsonl")),
        env=environment, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Committed offset 4 of 4.\n" in done.stdout
    assert (tmp_path / "items.db").stat().st_size > 0
