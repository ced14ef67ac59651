"""Our worker's answers equal those recorded from Apache Connect 4.3.0 (see parity/README.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.workers import WorkerProcess, our_worker

REFEREE = Path(__file__).parent / "parity" / "parity.py"
REFERENCE = REFEREE.with_name("reference-public-eos-disabled.json")
CORNERS = REFEREE.with_name("corners.py")
"""Requests that the other scenarios do not make."""
EXACTLY_ONCE = REFEREE.with_name("reference-public-eos-enabled.json")
"""Recorded with `exactly.once.source.support=enabled`."""

GROUPS = ("rest", "lifecycle", "offsets", "storage", "admin", "smt", "converters", "errors")

OF_EXACTLY_ONCE = (
    *("exactly_once_config", "lifecycle_source", "storage_config", "storage_offsets"),
    *("offsets_get_source", "offsets_patch_source", "offsets_not_stopped", "offsets_delete_source"),
)
"""Scenarios that depend on exactly-once support."""

SIDE_BY_SIDE = 3
"""Recorders that replay the scenarios of a test at a time."""

NOT_YET_EQUAL: dict[str, str] = {}
"""Scenarios that are not compared, with the reason. Delete entries that become equal."""


def scenarios(group: str, reference: Path = REFERENCE) -> list[str]:
    known: dict[str, dict[str, Any]] = json.loads(reference.read_text())["scenarios"]
    return [name for name, s in known.items() if s["group"] == group and name not in NOT_YET_EQUAL]


@pytest.fixture(scope="module")
def our_connect(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = our_worker(tmp_path_factory.mktemp("our-connect"), broker.bootstrap, {})
    process.start()
    yield process
    process.stop()


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_answers_equal_those_of_apache_connect(
    group: str, our_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    compare(scenarios(group), our_connect.url, broker, our_connect.properties, tmp_path)


@pytest.mark.slow
def test_answers_to_unusual_requests_equal_those_of_apache_connect(
    our_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    reference = CORNERS.with_name("reference-corners.json")
    names = list(json.loads(reference.read_text())["scenarios"])
    compare(names, our_connect.url, broker, our_connect.properties, tmp_path, reference, CORNERS)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["", *(pytest.param(group, marks=pytest.mark.soak) for group in GROUPS)])
def test_answers_with_exactly_once_support_equal_those_of_apache_connect(
    group: str, worker: Callable[..., WorkerProcess], broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker({"exactly.once.source.support": "enabled"})
    names = scenarios(group, EXACTLY_ONCE) if group else OF_EXACTLY_ONCE
    compare(names, process.url, broker, process.properties, tmp_path, EXACTLY_ONCE)


def compare(
    names: Sequence[str], url: str, broker: KafkaBroker, properties: Mapping[str, str], folder: Path,
    reference: Path = REFERENCE, program: Path = REFEREE,
) -> None:  # fmt: skip
    """Replays scenarios at a URL, and compares the answers with the recorded ones.

    They mostly wait, so a few are replayed side by side; their connectors, topics and files have names of their own.
    """
    topics = [f"--{kind}-topic={properties[f'{kind}.storage.topic']}" for kind in ("config", "offset", "status")]
    place = [f"--url={url}", f"--bootstrap={broker.bootstrap}", "--wait=20", *topics]

    def differences(part: Sequence[str]) -> str:
        own = folder / part[0]
        own.mkdir()
        recording = own / "ours.json"
        record = _referee(program, "record", *place, f"--workdir={own}", f"--output={recording}", "--scenario", *part)
        assert record.returncode == 0, record.stderr
        diff = _referee(program, "diff", "--subset", "--strict-headers", str(reference), str(recording))
        return f"{diff.stdout}\n{record.stderr}" if diff.returncode else ""

    parts = [names[first::SIDE_BY_SIDE] for first in range(min(SIDE_BY_SIDE, len(names)))]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        assert not "".join(pool.map(differences, parts))


def test_excluded_scenarios_exist() -> None:
    assert not set(NOT_YET_EQUAL) - set(json.loads(REFERENCE.read_text())["scenarios"])


def _referee(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = (sys.executable, "-B", str(program), *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
