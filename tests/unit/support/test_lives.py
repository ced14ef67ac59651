"""The checks of traces detect overlaps, alternations, late and repeated records."""

from __future__ import annotations

from tests.support.clusters.lives import HANDED_OVER, alternations, late_records, lives, overlaps, repeated


def mark(life: str, event: str, at: float, task: int = 0) -> str:
    return f"c {task} {life} 7 {event} {at}"


def test_lives_one_after_another_do_not_overlap() -> None:
    lines = [mark("a", "start", 1), mark("a", "alive", 2), mark("b", "start", 2.1), mark("b", "end", 3)]
    assert overlaps(lives(lines)) == []


def test_a_mark_after_the_start_of_the_next_life_is_an_overlap() -> None:
    lines = [mark("a", "start", 1), mark("b", "start", 2), mark("b", "end", 2.1), mark("a", "alive", 2.5)]
    (found,) = overlaps(lives(lines))
    assert found.startswith("c-0: b of process 7 started 0.500 s before the last mark of a")


def test_overlaps_are_found_behind_a_third_life() -> None:
    lines = [mark("a", "start", 1), mark("b", "start", 2), mark("c", "start", 3), mark("a", "alive", 4)]
    assert len(overlaps(lives(lines))) == 2


def test_other_tasks_may_overlap() -> None:
    lines = [mark("a", "start", 1), mark("b", "start", 2, task=1), mark("a", "alive", 3)]
    assert overlaps(lives(lines)) == []


def test_a_late_stop_counts_only_where_work_is_handed_over() -> None:
    lines = [mark("a", "start", 1), mark("b", "start", 2), mark("a", "end", 3)]
    assert overlaps(lives(lines)) == []
    assert len(overlaps(lives(lines), HANDED_OVER)) == 1


def test_a_life_that_writes_again_after_its_successor_alternates() -> None:
    assert alternations("aabbb") == []
    assert alternations("aabba") == ["a"]


def test_records_are_late_only_if_they_were_polled_after_the_successor_had_started() -> None:
    starts = {"a": 1.0, "b": 5.0}
    assert late_records(["a 0 1.5", "a 1 2.0", "b 1 5.5", "b 2 6.0"], starts) == []
    assert late_records(["a 0 1.5", "b 1 5.5", "a 1 2.0", "b 2 6.0"], starts) == []
    assert len(late_records(["a 0 1.5", "b 1 5.5", "a 1 5.2"], starts)) == 1


def test_records_that_were_written_twice() -> None:
    assert repeated("sink", ["a 1", "b 1", "a 2"]) == []
    assert repeated("sink", ["a 1", "b 1", "a 1"]) == ["sink: record a 1 2 times"]
