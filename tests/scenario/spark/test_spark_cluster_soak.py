"""Three minutes of killed executors and slots under exactly-once sources and sinks on a real Spark cluster."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.cluster_kills import cluster_soak


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_no_line_is_lost_or_doubled_while_executors_and_slots_are_killed(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    print(f"\nseed {seed}")
    account = cluster_soak(tmp_path, 180, seed)
    print(account.summary())
    assert (account.missing, account.doubled, account.sinks_missing) == (0, 0, 0)
    assert account.kills >= 4
