"""Lag, age and warnings from the offsets answer of a Headrace worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.offsets.lag import Lag, OffsetWarnings, of_response, time_of, total, warnings

if TYPE_CHECKING:
    from tui.client.responses import DetailedOffset, OffsetsResponse

DAY = 86_400_000


def entry(partition: int, end: int, records: int, ms: int) -> DetailedOffset:
    where = {"kafka_topic": "t", "kafka_partition": partition}
    return {"partition": where, "offset": {"kafka_offset": 5}, "end": end, "lag": {"records": records, "ms": ms}}


def test_the_lag_of_a_sink_is_the_sum_of_its_partitions() -> None:
    answer: OffsetsResponse = {"offsets": [entry(0, 9, 4, 61_000), entry(1, 5, 0, 0)]}
    lags = of_response(answer)
    assert lags["kafka t 0"] == Lag(9, 4, 61_000)
    assert total(lags) == Lag(None, 4, 61_000)
    assert (time_of(lags["kafka t 0"]), time_of(lags["kafka t 1"])) == ("1 min", "")


def test_the_age_of_a_source_is_that_of_its_newest_offset() -> None:
    answer: OffsetsResponse = {"offsets": [{"partition": {"f": n}, "offset": {}, "age_ms": n * 1000} for n in (50, 3)]}
    assert total(of_response(answer)).age_ms == 3000
    assert time_of(of_response(answer)['{"f": 3}']) == "3 s old"


def test_a_worker_that_reports_no_lag() -> None:
    plain: OffsetsResponse = {"offsets": [{"partition": {"f": 1}, "offset": {"n": 5}}]}
    assert of_response(plain) == {} and warnings({"offsets": []}) == OffsetWarnings()
    assert total({}) == Lag() and OffsetWarnings().lines(0) == []


def test_stalled_tasks_and_expiring_offsets_are_shown() -> None:
    found = warnings({"offsets": [], "stalled": [0, 2], "expires_at": 3 * DAY}).lines(DAY)
    assert found[0].startswith("STALLED: tasks 0, 2") and "in 2 d" in found[1]
    assert "at any moment" in OffsetWarnings((), 5).lines(6)[0]
