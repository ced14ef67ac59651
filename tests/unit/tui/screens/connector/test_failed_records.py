"""Failed records as text: positions, repeated failures."""

from __future__ import annotations

from tui.screens.connector import failed_records


def test_a_position_shows_only_its_known_parts() -> None:
    def shown(**place: object) -> str:
        record = {"time": 1, "task": 0, "stage": "produce", "message": "no", **place}
        return failed_records.content({"since": 1, "total": {"failed": 1}, "last": [record]}).plain

    assert " t1 produce" in shown(topic="t1", partition=None, offset=None)
    assert " t1-2 produce" in shown(topic="t1", partition=2)
    assert " t1-0@17 produce" in shown(topic="t1", partition=0, offset=17)
    assert "None" not in shown(topic="t1", partition=None, offset=None)


def test_equal_failures_are_one_line() -> None:
    failure = {"task": 0, "stage": "VALUE_CONVERTER", "message": "no JSON"}
    last = [{**failure, "offset": 3}, {**failure, "offset": 2}, {**failure, "task": 1, "offset": 1}]
    assert [(one["offset"], times) for one, times in failed_records.folded(last)] == [(3, 2), (1, 1)]
