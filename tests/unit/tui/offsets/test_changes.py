"""Changes of offsets: only differences are sent, and the progress of a running connector is not a conflict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model import Offset
from tui.offsets.changes import ChangeKind, changes, conflicts, left_out, same_offset


def sink(partition: int | str, offset: Any) -> Offset:
    return Offset(
        {"kafka_topic": "a", "kafka_partition": partition}, None if offset is None else {"kafka_offset": offset}
    )


BASE = [sink(0, 5), sink(1, 6), sink(2, 7)]


def test_only_differences_are_changes() -> None:
    found = changes(BASE, [sink(0, 5), sink("1", "6"), sink(2, 4)])
    assert [(change.kind, change.entry["offset"], change.step) for change in found] == [
        (ChangeKind.ALTER, {"kafka_offset": 4}, "−3")
    ]


def test_null_resets_only_existing_offsets() -> None:
    assert [change.kind for change in changes(BASE, [sink(0, None), sink(9, None)])] == [ChangeKind.RESET]


def test_new_and_omitted_partitions() -> None:
    wanted = [sink(0, 5), sink(9, 1)]
    assert [change.kind for change in changes(BASE, wanted)] == [ChangeKind.NEW]
    assert left_out(BASE, wanted) == [sink(1, 6), sink(2, 7)]


def test_true_differs_from_1() -> None:
    assert changes([Offset({"a": 1}, {"x": 1})], [Offset({"a": 1}, {"x": True})])
    assert not changes([Offset({"a": 1}, {"x": 1, "y": 2})], [Offset({"a": 1}, {"y": 2, "x": 1})])


@given(
    st.dictionaries(st.integers(0, 5), st.none() | st.integers(0, 9)),
    st.dictionaries(st.integers(0, 5), st.integers(0, 9)),
)
def test_changes_lead_to_the_wanted_offsets(wanted: dict[int, int | None], before: dict[int, int]) -> None:
    base = [sink(*item) for item in before.items()]
    state = dict(before)
    for change in changes(base, [sink(*item) for item in wanted.items()]):
        partition = change.partition["kafka_partition"]
        if change.after is None:
            state.pop(partition, None)
        else:
            state[partition] = change.after["kafka_offset"]
    assert state == {key: offset for key, offset in {**before, **wanted}.items() if offset is not None}


@pytest.mark.parametrize(
    ("now", "ran", "conflicting"),
    [
        ([sink(0, 5)], False, False),
        ([sink(0, 6)], False, True),
        ([sink(0, 6)], True, False),
        ([sink(0, 4)], True, True),
        ([], True, True),
        ([], False, True),
        ([sink(0, 5), sink(1, 99)], False, False),  # someone changed a partition that is not part of the change
    ],
)
def test_conflicting_offsets_are_detected(now: list[Offset], ran: bool, conflicting: bool) -> None:
    made = changes([sink(0, 5)], [sink(0, 1)])
    assert bool(conflicts([sink(0, 5)], now, made, ran)) is conflicting


def test_numbers_of_sinks_are_equal_however_they_are_written() -> None:
    assert same_offset({"kafka_offset": "007"}, {"kafka_offset": 7})
    assert same_offset({"kafka_offset": "7"}, {"kafka_offset": 7})
    assert not same_offset({"kafka_offset": "70"}, {"kafka_offset": 7})
    assert not same_offset({"kafka_offset": "x"}, {"kafka_offset": "y"})
    assert not same_offset({"kafka_offset": True}, {"kafka_offset": 1})
