from __future__ import annotations

from runtime.pipeline.sink.fetch_budget import Budget


def test_shares() -> None:
    budget = Budget(256 * 1024)
    shares = [budget.take() for _ in range(100)]
    assert shares[0] == 32 * 1024
    assert shares[-1] == 1024
    assert sum(shares) < 400 * 1024
    for share in shares:
        budget.give_back(share)
    assert budget.take() == 32 * 1024
