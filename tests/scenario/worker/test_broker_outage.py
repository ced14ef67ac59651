"""One of three brokers dies under two workers: records flow again soon after the election, none is lost or doubled, and
the workers' clients do not take the processor while the broker is away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters.broker_outage import Pipeline, pipeline
from tests.support.kafka.broker_cluster import BrokerCluster
from tests.support.waiting import allowed, wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

FLOWING = 10.0  # seconds from the election of the new leaders to the next committed records
WATCHED = 20.0  # seconds of an outage in which the processor time is measured; tests.bench.outage takes five minutes
MOST_CPU = 5.0  # % of a core for each worker with its processes, beyond what it takes with all brokers


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[BrokerCluster]:
    with BrokerCluster(tmp_path / "brokers").started() as found:
        yield found


def test_one_of_three_brokers_dies(cluster: BrokerCluster, tmp_path: Path) -> None:
    with pipeline(tmp_path, cluster) as running:
        before = running.cpu(WATCHED)
        for broker in cluster.brokers:
            flowing, cpu = running.outage(broker, WATCHED)
            print(f"flowing {flowing:.1f} s after the election; % of a core: {before} before, {cpu} during it")
            assert flowing < allowed(FLOWING)
            assert all(now < then + MOST_CPU for now, then in zip(cpu, before, strict=True)), (before, cpu)
        running.feeder.stop()
        _check(running)


def _check(running: Pipeline) -> None:
    """Each line is once in its topic, and at least once in the sink's file for each topic."""
    wanted = [b"%09d" % number for number in range(running.feeder.written)]
    values = running.reader.values.values()
    wait_until(lambda: all(len(found) >= len(wanted) for found in values), 120, "all lines")
    assert all(found == wanted for found in values)
    counts = Counter(dict.fromkeys(wanted, len(values)))
    lines = running.out
    wait_until(lambda: Counter(line[:9] for line in lines.read_bytes().splitlines()) >= counts, 120, "the sink's lines")
