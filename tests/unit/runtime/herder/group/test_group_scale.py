"""The simulation of `tests.bench.group_scale` with fewer workers: few units move, the load is equal."""

from __future__ import annotations

from tests.bench.group_scale import simulate


def test_few_units_move_between_many_workers() -> None:
    found, group = simulate(5_000, 50)
    assert [one.orphans for one in found] == [0] * len(found)
    for one in found:
        assert one.generations <= 3, one.what
        assert one.moved <= one.needed, one.what
        low, high = one.spread
        assert 0.9 <= low <= high <= 1.1, one.what
    assert max(one.seconds for one in found) < 5, "the leader's processor time for a generation"
    assert group.sizes()[1] < 10_000, "bytes of the metadata of one member"
