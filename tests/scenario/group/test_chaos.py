"""Faults of brokers, workers and their processes at random while connectors change: `make soak` runs for longer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.chaos.run import Plan, chaos_soak
from tests.support.kafka.lost_markers import MarkersLost


def check(folder: Path, plan: Plan) -> None:
    print(f"\nseed {plan.seed}")
    try:
        account = chaos_soak(folder, plan)
    except MarkersLost as lost:  # after kill -9 Apache Kafka 4.3.0 may end a transaction without markers: seen twice
        pytest.xfail(str(lost))
    print(account.summary())
    assert account.faults == []
    assert account.verdict.faults == []
    assert account.orphans == []
    assert account.sound


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("exactly_once", [True, False])
def test_nothing_is_lost_doubled_or_revived(tmp_path: Path, exactly_once: bool) -> None:
    check(tmp_path, Plan(random.randrange(1_000_000), 60, exactly_once=exactly_once))


KILLS = ("slot killed", "driver killed", "worker killed", "broker killed")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_record_arrives_exactly_once_despite_kills(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    check(tmp_path, Plan(seed, 1, brokers=1, workers=2, faults=KILLS, changes=False, pause=2.0))
