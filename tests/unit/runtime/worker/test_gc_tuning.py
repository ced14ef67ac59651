"""The clock of garbage collections."""

from __future__ import annotations

import gc

from runtime.worker.loop_monitor import CollectionClock


def test_the_clock_counts_collections_until_it_is_closed() -> None:
    clock = CollectionClock()
    clock.start()
    gc.collect()
    counted = clock.total
    clock.close()
    gc.collect()
    assert 0 < counted == clock.total
