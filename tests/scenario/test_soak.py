"""Random kills of each process: everything recovers, every line arrives, no process is left behind.

`make soak` runs for longer.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.soak.kills import soak
from tests.soak.rig import VICTIMS


@pytest.mark.soak
@pytest.mark.timeout(400)
def test_random_kills(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    print(f"\nseed {seed}")
    account = soak(tmp_path, 20, seed)
    print(account.table())
    assert account.missing == 0
    assert account.failed == []
    assert account.orphans == []
    assert account.kills.total() >= len(VICTIMS)
