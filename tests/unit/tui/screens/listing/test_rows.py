"""The incrementally sorted list has the order of a freshly sorted list."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tui.model import Connector, Task, by_severity
from tui.screens.listing import rows as listing
from tui.screens.listing.rows import Rows


@pytest.mark.parametrize("changes", [6, 2 * listing.FEW], ids=["one by one", "sorted"])
def test_the_order_is_correct_after_each_change(changes: int) -> None:
    chance, rows, there = random.Random(5), Rows(), dict[str, Connector]()
    for _ in range(60):
        for _ in range(chance.randrange(1, changes)):
            name = f"c{chance.randrange(changes * 7)}"
            if chance.random() < 0.25:
                there.pop(name, None)
            else:
                state = chance.choice(("RUNNING", "FAILED", "PAUSED", "STOPPED", "UNASSIGNED"))
                kind = chance.choice(("source", "sink"))
                there[name] = Connector(name, type=kind, state=state, tasks=(Task(0, state),))
        rows.update(dict(there))
        names, wanted = rows.chosen(None)
        assert names == [one.name for one in by_severity(there.values())]
        assert wanted["name"] == max(map(len, names), default=0)
        failed, _ = rows.chosen(lambda one: one.overall == "FAILED")
        assert failed == [name for name in names if there[name].overall == "FAILED"]
        assert rows.counts == Counter(one.overall for one in there.values())
        resting = {name for name, one in there.items() if one.type == "sink" and not one.running}
        assert rows.resting_sinks.keys() == resting
