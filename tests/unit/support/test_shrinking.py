"""Sequences of requests are shortened to the operations that show a difference."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.sequences.operation import Operation, request
from tests.soak.sequences.run import sequence
from tests.soak.sequences.shrinking import shrink


def test_only_the_operations_that_show_the_difference_remain() -> None:
    operations = [request(str(number), "GET", "/") for number in range(40)]
    cause = {"3", "17", "39"}

    def differs(shorter: Sequence[Operation]) -> bool:
        return cause <= {operation.label for operation in shorter}

    assert [operation.label for operation in shrink(operations, differs, 60)] == ["3", "17", "39"]


def test_a_sequence_stays_as_it_is_once_the_time_is_over() -> None:
    operations = [request("a", "GET", "/")] * 9
    assert shrink(operations, lambda _: True, 0) == operations


def test_a_seed_always_has_the_same_operations() -> None:
    assert sequence(7) == sequence(7)
    assert sequence(7) != sequence(8)
