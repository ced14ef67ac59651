"""Our worker's responses equal those recorded from Apache Connect 4.3.0 (see parity/README.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.contract.parity.recorder import Target, Topic
from tests.contract.parity.registry import GROUPS, SCENARIOS
from tests.contract.parity.replay import load, replay
from tests.support.broker import KafkaBroker
from tests.support.workers import StartWorker, our_worker

PARITY = Path(__file__).parent / "parity"
REFERENCE = PARITY / "reference-public-eos-disabled.json"
CORNERS = PARITY / "reference-corners.json"
"""Unusual requests."""
EXACTLY_ONCE = PARITY / "reference-public-eos-enabled.json"
"""Recorded with `exactly.once.source.support=enabled`."""

KINDS = ("rest", "lifecycle", "offsets", "storage", "admin", "smt", "converters", "errors")

OF_EXACTLY_ONCE = (
    *("exactly_once_config", "lifecycle_source", "storage_config", "storage_offsets"),
    *("offsets_get_source", "offsets_patch_source", "offsets_not_stopped", "offsets_delete_source"),
)
"""Scenarios that depend on exactly-once support."""


def scenarios(reference: Path = REFERENCE, kind: str = "") -> list[str]:
    """The scenarios of a recording, of one kind or of all."""
    return [name for name in load(reference)["scenarios"] if kind in ("", GROUPS[name])]


def differences(
    names: Iterable[str], url: str, broker: KafkaBroker, properties: Mapping[str, str], folder: Path,
    reference: Path = REFERENCE,
) -> dict[str, list[str]]:  # fmt: skip
    """Replays scenarios at a URL; returns the differences of each one from its recording."""
    kinds: tuple[Topic, ...] = ("config", "offset", "status")
    topics = {kind: properties[f"{kind}.storage.topic"] for kind in kinds}
    return replay(Target(url, broker.bootstrap, topics, folder), names, reference)


@pytest.fixture(scope="module")
def replayed(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """The differences of all scenarios of one worker."""
    folder = tmp_path_factory.mktemp("parity")
    with our_worker(folder, broker.bootstrap, {}).started() as process:
        place = process.url, broker, process.properties, folder
        found = differences(scenarios(), *place)
        yield {**found, **differences(scenarios(CORNERS), *place, CORNERS)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_responses_equal_those_of_apache_connect(kind: str, replayed: dict[str, list[str]]) -> None:
    assert [line for name in scenarios(kind=kind) for line in replayed[name]] == []


@pytest.mark.slow
def test_responses_to_unusual_requests_equal_those_of_apache_connect(replayed: dict[str, list[str]]) -> None:
    assert [line for name in scenarios(CORNERS) for line in replayed[name]] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", *(pytest.param(kind, marks=pytest.mark.soak) for kind in KINDS)])
def test_responses_with_exactly_once_support_equal_those_of_apache_connect(
    kind: str, worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker({"exactly.once.source.support": "enabled"})
    names = scenarios(EXACTLY_ONCE, kind) if kind else OF_EXACTLY_ONCE
    found = differences(names, process.url, broker, process.properties, tmp_path, EXACTLY_ONCE)
    assert [line for lines in found.values() for line in lines] == []


def test_each_scenario_is_recorded_once_and_each_recorded_scenario_exists() -> None:
    recorded = [*scenarios(), *scenarios(CORNERS)]
    assert sorted(recorded) == sorted(SCENARIOS)
    assert sorted(scenarios(EXACTLY_ONCE)) == sorted(scenarios())
    assert {GROUPS[name] for name in recorded} == {*KINDS}
