"""Workers are restarted one after another: a client that repeats requests answered with 409 loses none of them."""

from __future__ import annotations

import pytest

from tests.support.clusters.lives import HANDED_OVER, TAKEN_OVER, Pipelines
from tests.support.clusters.retrying_client import RetryingClient
from tests.support.clusters.worker_group import WorkerGroup


@pytest.mark.soak
def test_a_rolling_restart_loses_no_request_and_no_record(group: WorkerGroup) -> None:
    group.start(*(group.ours() for _ in range(3)))
    pipelines = Pipelines(group.folder, group.broker, 6)
    pipelines.create(group.connect)
    group.wait_running(pipelines.names)
    client = RetryingClient(lambda: group.workers, group.folder)
    client.start()
    try:
        for worker in group.workers:
            assert group.stop(worker) == 0
            group.wait_running(pipelines.names)
            group.start(worker)
    finally:
        client.stop()
    print(f"\n{client.summary}")
    assert client.lost == []
    assert client.forgotten(group.connect) == {}
    group.wait_running([*pipelines.names, *client.wanted])
    assert pipelines.finish() > 0
    assert pipelines.faults(HANDED_OVER) == []


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_killing_and_starting_workers_one_after_another_loses_no_record(group: WorkerGroup) -> None:
    """The hard bounce of Kafka's system tests (connect_distributed_test.py): twice through the group."""
    group.start(*(group.ours() for _ in range(3)))
    pipelines = Pipelines(group.folder, group.broker, 4)
    pipelines.create(group.connect)
    group.wait_running(pipelines.names)
    for worker in [*group.workers, *group.workers]:
        group.kill(worker)
        group.start(worker)
        group.wait_running(pipelines.names)
    assert pipelines.finish() > 0
    assert pipelines.faults(TAKEN_OVER) == []
