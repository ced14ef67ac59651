"""One of two workers is killed: the other runs everything long before the session of the dead one ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.takeover import take_over
from tests.support.broker import KafkaBroker
from tests.support.clusters.worker_group import worker_group
from tests.support.waiting import allowed

SESSION = 60  # seconds


@pytest.mark.parametrize("leads", [pytest.param(False, marks=pytest.mark.soak), True], ids=["follower", "leader"])
def test_a_killed_worker_is_replaced_before_its_session_ends(leads: bool, broker: KafkaBroker, tmp_path: Path) -> None:
    properties = {"session.timeout.ms": str(SESSION * 1000), "heartbeat.interval.ms": "3000"}
    with worker_group(tmp_path, broker, properties) as group:
        seconds = take_over(group, group.ours(), group.ours(), broker.create_topic(), leads)
        print(f"\nall RUNNING {seconds:.1f} s after kill -9")
        assert seconds < allowed(10.0)
