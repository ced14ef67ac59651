"""Plugins of every kind call what Connect's API offers, on Apache's worker and on ours: their transcripts are equal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import Connect
from tests.support.java.transcript import scenarios
from tests.support.java.transcript.chain import SINK, SOURCE
from tests.support.java.transcript.sides import EXACTLY_ONCE, Side, workers

_RECORDED = Path(__file__).with_name("sink_transcript.txt")
"""The transcript of a sink on Apache's worker; HEADRACE_SNAPSHOTS=update writes it."""

_STOPPED = "+connector: stop"
"""Apache's worker does not stop a connector that has raised an error."""

_ABORTED = "+commits: commitRecord {at=2} null"
"""Apache's worker does not call commitRecord() for records of a transaction that the task has aborted."""


@pytest.fixture(scope="module")
def sides(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Side]]:
    folders = (tmp_path_factory.mktemp("apache"), tmp_path_factory.mktemp("ours"))
    with workers(broker.bootstrap, folders, lambda *_: EXACTLY_ONCE) as started:
        yield started


def _compare(scenario: Callable[[Side], list[str]], sides: list[Side], *known: str) -> None:
    """`known`: the lines that differ, as of diff."""
    apache, ours = map(scenario, sides)
    assert _diff(apache, ours) == "\n".join(known)


def _diff(apache: list[str], ours: list[str]) -> str:
    diff = unified_diff(list(map(_with_context, apache)), ours, n=0, lineterm="")
    return "\n".join(line for line in diff if line[:2] not in ("--", "++", "@@"))


def _with_context(line: str) -> str:
    """Apache's worker has no diagnostic context when it validates or changes offsets; ours has the connector."""
    return line.replace(" in null", " in [NAME|worker] ") if line.startswith("connector: ") else line


@pytest.mark.slow
def test_a_sink_with_its_chain_as_recorded(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    ours = scenarios.sink(Side(connect, tmp_path), broker)
    assert _diff(_RECORDED.read_text().splitlines(), ours) == ""


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_the_recorded_transcript_is_that_of_apaches_worker(sides: list[Side], broker: KafkaBroker) -> None:
    apache = scenarios.sink(sides[0], broker)
    if os.environ.get("HEADRACE_SNAPSHOTS") == "update":
        _RECORDED.write_text("".join(f"{line}\n" for line in apache))
    assert apache == _RECORDED.read_text().splitlines()


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("boundary", ["poll", "interval", "connector"])
def test_a_source_with_its_chain(sides: list[Side], broker: KafkaBroker, boundary: str) -> None:
    known = [_ABORTED] if boundary == "connector" else []
    _compare(lambda side: scenarios.source(side, broker, boundary), sides, *known)


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("cls", [SINK, SOURCE])
def test_requests_of_a_connector(sides: list[Side], broker: KafkaBroker, cls: str) -> None:
    _compare(lambda side: scenarios.requests(side, broker, cls), sides, _STOPPED)
