"""What the detail of our worker says, and what is made of it."""

from __future__ import annotations

from tui.offsets.lag import Lag, OffsetWarnings, of_answer, time_of, total, warnings

DAY = 86_400_000


def entry(partition: int, **detail: object) -> dict[str, object]:
    where = {"kafka_topic": "t", "kafka_partition": partition}
    return {"partition": where, "offset": {"kafka_offset": 5}, **detail}


def test_lag_of_sinks_adds_up() -> None:
    answer = {
        "offsets": [entry(0, end=9, lag={"records": 4, "ms": 61_000}), entry(1, end=5, lag={"records": 0, "ms": 0})]
    }
    lags = of_answer(answer)
    assert lags["kafka t 0"] == Lag(9, 4, 61_000)
    assert total(lags) == Lag(None, 4, 61_000)
    assert (time_of(lags["kafka t 0"]), time_of(lags["kafka t 1"])) == ("1 min", "")


def test_age_of_sources_is_the_youngest() -> None:
    answer = {"offsets": [{"partition": {"f": n}, "offset": {}, "age_ms": n * 1000} for n in (50, 3)]}
    assert total(of_answer(answer)).age_ms == 3000
    assert time_of(of_answer(answer)['{"f": 3}']) == "3 s old"


def test_a_worker_that_tells_nothing() -> None:
    assert of_answer({"offsets": [entry(0)]}) == {} and warnings({"offsets": []}) == OffsetWarnings()
    assert total({}) == Lag() and OffsetWarnings().lines(0) == []


def test_stalled_and_expiring_are_said() -> None:
    found = warnings({"offsets": [], "stalled": [0, 2], "expires_at": 3 * DAY}).lines(DAY)
    assert found[0].startswith("STALLED: tasks 0, 2") and "in 2 d" in found[1]
    assert "at any moment" in OffsetWarnings((), 5).lines(6)[0]
