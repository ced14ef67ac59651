"""TimestampConverter with time zones and distant years."""

from __future__ import annotations

import datetime as dt

import pytest

from runtime.api.data.logical import TIMESTAMP_SCHEMA, time_millis
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA
from runtime.api.errors import DataError
from tests.support.tasks.transforms import transformation

EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
STEPS = {
    "Cast$Value": {"spec": "string"},
    "TimestampConverter$Value": {"target.type": "string", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSX"},
}


@pytest.mark.parametrize(("name", "config"), STEPS.items())
def test_timestamps_in_another_time_zone(name: str, config: dict[str, str]) -> None:
    record = SourceRecord({}, {}, "t", dt.datetime(2024, 1, 1, 2, 0, tzinfo=EAST), TIMESTAMP_SCHEMA)
    changed = transformation(name, config).apply(record)
    assert changed is not None
    assert changed.value == "2023-12-31T20:30:00.000Z"


@pytest.mark.parametrize(("name", "config"), STEPS.items())
def test_times_outside_the_years_1_to_9999_are_refused(name: str, config: dict[str, str]) -> None:
    record = SourceRecord({}, {}, "t", dt.datetime(1, 1, 1, 2, 0, tzinfo=EAST), TIMESTAMP_SCHEMA)
    with pytest.raises(DataError, match="outside the years 1 to 9999"):
        transformation(name, config).apply(record)


@pytest.mark.parametrize(
    "ms", [253_402_300_800_000, 253_402_300_800_000 + 3_723_004, (1 << 63) - 1, -62_135_596_800_001, -(1 << 63)]
)
def test_the_time_of_day_of_unix_time_beyond_the_years_1_to_9999(ms: int) -> None:
    record = SourceRecord({}, {}, "t", ms, INT64_SCHEMA)
    changed = transformation("TimestampConverter$Value", {"target.type": "Time"}).apply(record)
    assert changed is not None
    assert time_millis(changed.value) == ms % 86_400_000


@pytest.mark.parametrize("year", ["0000", "10000"])
@pytest.mark.parametrize(("target", "expected"), [("Time", dt.time(10, 30)), ("unix", None)])
def test_text_beyond_the_years_1_to_9999(year: str, target: str, expected: dt.time | None) -> None:
    record = SourceRecord({}, {}, "t", f"{year}-05-06 10:30", STRING_SCHEMA)
    changed = transformation("TimestampConverter$Value", {"target.type": target, "format": "yyyy-MM-dd HH:mm"}).apply(
        record
    )
    assert changed is not None
    if expected is not None:
        assert changed.value == expected
    else:
        assert changed.value % 86_400_000 == (10 * 60 + 30) * 60_000


@pytest.mark.parametrize("target", ["string", "Timestamp", "Date"])
@pytest.mark.parametrize("text", ["0000-00-00", "10000-01-01"])
def test_dates_that_cannot_be_held_are_named(text: str, target: str) -> None:
    """0000-00-00 is MySQL's date for none."""
    step = transformation("TimestampConverter$Value", {"target.type": target, "format": "yyyy-MM-dd"})
    with pytest.raises(DataError, match=rf"value \({text}\) is outside the years 1 to 9999"):
        step.apply(SourceRecord({}, {}, "t", text, STRING_SCHEMA))
