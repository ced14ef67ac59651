"""A minute of random failures of three workers in a group: no record lost, never two owners, all RUNNING at the end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.group_kills import group_soak


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_workers_that_fail_at_random(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    print(f"\nseed {seed}")
    account = group_soak(tmp_path, 60, seed)
    print(account.table())
    assert account.faults == []
    assert account.orphans == []
    assert account.failures.total() >= 5
