"""Two of our workers in a group give the answers of an Apache worker, whichever worker receives the request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.test_parity import KINDS, differences, scenarios
from tests.support.broker import KafkaBroker
from tests.support.clusters.worker_group import worker_group
from tests.support.servers.round_robin import round_robin

SCENARIOS = (*("create_basic", "tasks", "lifecycle_sink", "topics", "offsets_patch_source", "offsets_delete_sink"),)
"""Those whose requests have to reach the leader, the owner or all workers; `make soak` replays every scenario. In
restart_failed the recorder waits for 1.5 s, in which a busy machine's other worker may not have read the restart."""


@pytest.mark.slow
def test_answers_of_two_workers_in_turn_equal_those_of_apache_connect(broker: KafkaBroker, tmp_path: Path) -> None:
    with worker_group(tmp_path, broker) as group:
        group.start(group.ours(), group.ours())
        with round_robin([worker.url for worker in group.workers]) as url:
            found = differences(SCENARIOS, url, broker, group.properties, tmp_path)
    assert [line for lines in found.values() for line in lines] == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"admin"}))  # each worker has its own logger levels
def test_every_recorded_scenario_by_two_workers_in_turn(kind: str, broker: KafkaBroker, tmp_path: Path) -> None:
    with worker_group(tmp_path, broker) as group:
        group.start(group.ours(), group.ours())
        with round_robin([worker.url for worker in group.workers]) as url:
            found = differences(scenarios(kind=kind), url, broker, group.properties, tmp_path)
    assert [line for lines in found.values() for line in lines] == []
