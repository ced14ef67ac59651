"""Kills of slot, engine, worker and broker under load: exactly once with transactions, nothing lost without.

`make soak` runs for longer.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.exactly_once import VICTIMS, Plan, exactly_once_soak


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_line_arrives_exactly_once(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    print(f"\nseed {seed}")
    account = exactly_once_soak(tmp_path, seed, Plan(seconds=5, kills=4, inside=1, victims=VICTIMS))
    print(account.summary())
    assert account.faults == []
    assert (account.missing, account.doubled) == (0, 0)
    assert account.orphans == []
    assert account.kills.total() >= len(VICTIMS)
    assert account.aborted > 0
