"""Failed connectors and tasks, grouped by root cause."""

from __future__ import annotations

import pytest

from tests.unit.tui.screens.builders import connector
from tui.failures import FailedUnit, common_cause, failed_units, groups
from tui.model import Connector, Task


def failing(name: str, *traces: str, state: str = "RUNNING", trace: str = "") -> Connector:
    """A connector with a task for each trace; an empty one is of a task that runs."""
    tasks = [Task(number, "FAILED" if text else "RUNNING", "w:8083", "", text) for number, text in enumerate(traces)]
    return Connector(name, state=state, tasks=tuple(tasks), worker="w:8083", trace=trace)


def test_equal_root_causes_are_one_group_the_largest_first() -> None:
    lost = "a.b.ConnectException: Exiting\nCaused by: java.io.IOException: db7 is gone at offset "
    found = groups(
        failed_units(
            [
                failing("sink", lost + "12", "", lost + "7,123"),
                failing("archive", lost + "990"),
                failing("broken", state="FAILED", trace="a.b.ConfigException: no topic"),
            ]
        )
    )
    assert [(group.cause, [unit.title for unit in group.units]) for group in found] == [
        ("IOException: db7 is gone at offset 990", ["archive/0", "sink/0", "sink/2"]),
        ("ConfigException: no topic", ["broken"]),
    ]
    assert [group.connectors for group in found] == [2, 1]


def test_a_failure_without_a_trace_has_a_group() -> None:
    (group,) = groups([FailedUnit("a", 0), FailedUnit("b", None)])
    assert group.cause == "no trace" and len(group.units) == 2


def test_connectors_that_run_have_no_failures() -> None:
    assert failed_units([connector("a"), connector("b", "PAUSED", ("PAUSED",)), connector("c", "STOPPED", ())]) == []


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("no number at offset 12", "no number at offset 9,876", True),
        ("orders-3@120 is poisoned", "orders-3@9 is poisoned", True),
        ("lock 0xfe12 is held", "lock 0x00aa is held", True),
        ("db7:5432 refused", "db8:5432 refused", False),
        ("10.0.0.1:5432 refused", "10.0.0.2:5432 refused", False),
        ("host-1 refused", "host-2 refused", False),
        ("needs version 4.3", "needs version 4.4", False),
    ],
)
def test_only_numbers_that_name_nothing_may_differ(one: str, other: str, alike: bool) -> None:
    assert (common_cause(one) == common_cause(other)) is alike
